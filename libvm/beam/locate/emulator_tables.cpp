#include <libvm/arch/x86_64/instruction.h>
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

// Intel's manual, volume 2, appendix A.
constexpr std::uint8_t kLoadAddress = 0x8d;
constexpr std::uint8_t kLoad = 0x8b;
constexpr std::uint8_t kStore = 0x89;
constexpr std::uint8_t kStoreConstant = 0xc7;
constexpr std::uint8_t kOperateOnByte = 0x83;
constexpr std::uint8_t kCompare = 7;  ///< of kOperateOnByte
constexpr std::uint8_t kCall = 0xe8;

/// An instruction, where the next one is, and the address of its operand, if that is relative.
struct Step {
    Instruction instruction;
    Address next = 0;
    Address operand = 0;
};

/// The instructions of a function one after another, up to one that is not understood: none but
/// those of x86-64 are.
std::vector<Step> steps_of(Vm& vm, Address begin, std::size_t bytes) {
    std::vector<std::byte> code(bytes);
    std::vector<Step> steps;
    if (vm.layout().architecture() != Architecture::kX86_64 || !vm.bulk().read(begin, code)) {
        return steps;
    }
    for (std::size_t at = 0; at < code.size();) {
        const auto instruction = first_instruction(std::span(code).subspan(at));
        if (!instruction || instruction->bytes == 0) {
            break;
        }
        at += instruction->bytes;
        Step step{*instruction, begin + at, 0};
        if (instruction->operand && instruction->operand->relative) {
            step.operand = step.next + static_cast<std::uint64_t>(
                                           std::int64_t{instruction->operand->displacement});
        }
        steps.push_back(step);
    }
    return steps;
}

std::vector<Step> steps_of(Vm& vm, const target::Symbol& function) {
    return steps_of(
        vm, function.address,
        function.size == 0 ? kMostCode : std::min<std::size_t>(function.size, kMostCode));
}

bool stores_to(const std::vector<Step>& steps, Address variable) {
    return std::ranges::any_of(steps, [variable](const Step& step) {
        return step.operand == variable && step.instruction.is(kStore) && step.instruction.wide;
    });
}

/// The first variable of a word that is loaded and stored: the head of a list from which the
/// function takes, or to which it adds.
std::optional<Address> list_head(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
        if (step.operand != 0 && step.instruction.is(kLoad) && step.instruction.wide &&
            stores_to(steps, step.operand)) {
            return step.operand;
        }
    }
    return std::nullopt;
}

/// The first variable of four bytes that becomes 0.
std::optional<Address> cleared_flag(const std::vector<Step>& steps) {
    const auto found = std::ranges::find_if(steps, [](const Step& step) {
        return step.operand != 0 && step.instruction.is(kStoreConstant) && !step.instruction.wide &&
               !step.instruction.narrow && step.instruction.immediate == 0;
    });
    return found == steps.end() ? std::nullopt : std::optional(found->operand);
}

/// The address that the first instruction passes to the function to which it then jumps.
std::optional<Address> first_argument(const std::vector<Step>& steps) {
    if (steps.empty() || steps.front().operand == 0 ||
        !steps.front().instruction.is(kLoadAddress) ||
        !steps.front().instruction.reg_is(MachineRegister::kRdi)) {
        return std::nullopt;
    }
    return steps.front().operand;
}

/// updater_process and update_queue of erl_bif_persistent.c: try_seize_update_permission(), which
/// persistent_term:put/2 calls, compares the one with 0, and puts itself into the other or sets
/// the one.
std::optional<std::pair<Address, Address>> update_permission(Vm& vm,
                                                             const std::vector<Step>& steps) {
    for (const Step& call : steps) {
        if (!call.instruction.is(kCall)) {
            continue;
        }
        const auto callee = steps_of(
            vm, call.next + static_cast<std::uint64_t>(call.instruction.immediate), kMostOfOther);
        const auto compared = std::ranges::find_if(callee, [](const Step& step) {
            return step.operand != 0 && step.instruction.is(kOperateOnByte) &&
                   step.instruction.reg == kCompare && step.instruction.wide &&
                   step.instruction.immediate == 0;
        });
        const auto queue = list_head(callee);
        if (compared != callee.end() && queue && *queue != compared->operand &&
            stores_to(callee, compared->operand)) {
            return std::pair(compared->operand, *queue);
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
            return function ? noted(name, first_argument(steps_of(vm, *function))) : std::nullopt;
        };
        tables.code_modification =
            permission("code_mod_permission", "erts_release_code_mod_permission");
        tables.code_staging =
            permission("code_stage_permission", "erts_release_code_stage_permission");
    } else if (const auto release = symbols.find("erts_release_code_write_permission")) {
        const auto steps = steps_of(vm, *release);
        tables.code_write_queue = noted("code_write_queue", list_head(steps));
        tables.code_write_seized = noted("code_writing_seized", cleared_flag(steps));
    }
    if (const auto put = symbols.find("persistent_term_put_2")) {
        if (const auto both = update_permission(vm, steps_of(vm, *put))) {
            tables.persistent_term_updater = noted("updater_process", both->first);
            tables.persistent_term_queue = noted("update_queue", both->second);
        }
    }
    return tables;
}

}  // namespace beamdump::beam
