#include <libvm/arch/data_accesses.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/locate/emulator_tables.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace beamdump::beam {

namespace {

/// Bytes of a function that are looked at, where its symbol does not say how many it has.
constexpr std::size_t kMostCode = 4096;
constexpr std::size_t kMostOfOther = 320;  ///< of a function without a symbol

using Accesses = std::vector<arch::DataAccess>;
using Kind = arch::DataAccess::Kind;

Accesses accesses_of(Vm& vm, Address begin, std::size_t bytes) {
    std::vector<std::byte> code(bytes);
    return vm.bulk().read(begin, code)
               ? arch::data_accesses(vm.layout().architecture(), code, begin)
               : Accesses();
}

Accesses accesses_of(Vm& vm, const target::Symbol& function) {
    return accesses_of(
        vm, function.address,
        function.size == 0 ? kMostCode : std::min<std::size_t>(function.size, kMostCode));
}

bool stores_to(const Accesses& accesses, Address variable) {
    return std::ranges::any_of(accesses, [variable](const arch::DataAccess& access) {
        return access.is(Kind::kStoreWord, variable);
    });
}

/// The first variable of a word that is loaded and stored: the head of a list from which the
/// function takes, or to which it adds.
std::optional<Address> list_head(const Accesses& accesses) {
    for (const auto& access : accesses) {
        if (access.kind == Kind::kLoadWord && stores_to(accesses, access.address)) {
            return access.address;
        }
    }
    return std::nullopt;
}

std::optional<Address> first_of(const Accesses& accesses, Kind kind) {
    const auto found = std::ranges::find(accesses, kind, &arch::DataAccess::kind);
    return found == accesses.end() ? std::nullopt : std::optional(found->address);
}

/// The address that the first instruction passes to the function to which it then jumps.
std::optional<Address> first_argument(const Accesses& accesses) {
    if (accesses.empty() || accesses.front().place != 0 ||
        accesses.front().kind != Kind::kFirstArgument) {
        return std::nullopt;
    }
    return accesses.front().address;
}

/// updater_process and update_queue of erl_bif_persistent.c: try_seize_update_permission(), which
/// persistent_term:put/2 calls, compares the one with 0, and puts itself into the other or sets
/// the one.
std::optional<std::pair<Address, Address>> update_permission(Vm& vm, const Accesses& accesses) {
    for (const auto& call : accesses) {
        if (call.kind != Kind::kCall) {
            continue;
        }
        const auto callee = accesses_of(vm, call.address, kMostOfOther);
        const auto compared = first_of(callee, Kind::kCompareWithNull);
        const auto queue = list_head(callee);
        if (compared && queue && *queue != *compared && stores_to(callee, *compared)) {
            return std::pair(*compared, *queue);
        }
    }
    return std::nullopt;
}

/// resource_type_list: the head of a circular list, a type of which only the pointers are set
/// (erl_nif_init() in erl_nif.c, OTP 25 to 29). Types of the runtime's own NIFs are always in it.
std::optional<Address> resource_type_list(Vm& vm, const ImageSearch& search) {
    LayoutNames names(vm.layout());
    const auto next = names.field(runtime::ErtsResourceType::next);
    const auto prev = names.field(runtime::ErtsResourceType::prev);
    const auto bytes = names.bytes(runtime::ErtsResourceType::kName);
    if (!names.outcome()) {
        return std::nullopt;
    }
    const auto rest = std::max(end_of({next}), end_of({prev}));
    const auto candidates = search.matching(bytes, [&](Address at, std::span<const std::byte> all) {
        const StructView view(all);
        const auto first = view.get(next);
        const auto last = view.get(prev);
        if (first == at || first % sizeof(Address) != 0 || last % sizeof(Address) != 0 ||
            !vm.plausible(first, bytes) || !vm.plausible(last, bytes) ||
            !std::ranges::all_of(all.subspan(rest),
                                 [](std::byte byte) { return byte == std::byte{0}; })) {
            return false;
        }
        const auto back = vm.bulk().word(first + prev.offset);
        const auto forth = vm.bulk().word(last + next.offset);
        return back && forth && *back == at && *forth == at;
    });
    return candidates.size() == 1 ? std::optional(candidates.front()) : std::nullopt;
}

}  // namespace

EmulatorTables find_emulator_tables(Vm& vm, const Symbols& symbols, const ImageSearch& search,
                                    std::vector<Found>& found) {
    EmulatorTables tables;
    const auto named = [&](const char* name) -> std::optional<Address> {
        const auto symbol = symbols.find(name);
        if (!symbol) {
            return std::nullopt;
        }
        found.push_back({name, symbol->address, std::string(symbol->table)});
        return symbol->address;
    };
    const auto noted = [&](const char* name, std::optional<Address> address) {
        if (address) {
            found.push_back({name, *address, "machine code"});
        }
        return address;
    };
    tables.thread_progress = named("erts_thr_prgr__");
    tables.staging_code_index = named("the_staging_code_index");
    tables.literal_area = named("erts_copy_literal_area__");
    tables.trace_sessions = named("erts_trace_session_0");
    tables.resource_types = named("resource_type_list");
    if (!tables.resource_types) {
        tables.resource_types = resource_type_list(vm, search);
        if (tables.resource_types) {
            found.push_back({"resource_type_list", *tables.resource_types, "shape"});
        }
    }
    if (vm.layout().has(runtime::CodePermission::kName)) {
        const auto permission = [&](const char* name, std::string_view release) {
            const auto function = symbols.find(release);
            return function ? noted(name, first_argument(accesses_of(vm, *function)))
                            : std::nullopt;
        };
        tables.code_modification =
            permission("code_mod_permission", "erts_release_code_mod_permission");
        tables.code_staging =
            permission("code_stage_permission", "erts_release_code_stage_permission");
    } else if (const auto release = symbols.find("erts_release_code_write_permission")) {
        const auto accesses = accesses_of(vm, *release);
        tables.code_write_queue = noted("code_write_queue", list_head(accesses));
        tables.code_write_seized =
            noted("code_writing_seized", first_of(accesses, Kind::kClearInt));
    }
    if (const auto put = symbols.find("persistent_term_put_2")) {
        if (const auto both = update_permission(vm, accesses_of(vm, *put))) {
            tables.persistent_term_updater = noted("updater_process", both->first);
            tables.persistent_term_queue = noted("update_queue", both->second);
        }
    }
    return tables;
}

}  // namespace beamdump::beam
