#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/layout.h>
#include <libvm/beam/locate/vm_finder.h>
#include <libvm/beam/search/memory_tables.h>
#include <libvm/beam/search/named_tables.h>
#include <libvm/beam/search/persistent_terms.h>

#include <fmt/format.h>

namespace beamdump::beam {
namespace {

/// literal_alloc has one instance, which names the mapper that it alone uses.
Result<Address> literal_mapper_of(Vm& vm, Address allocators) {
    LayoutNames names(vm.layout());
    const auto extra = names.field("ErtsAllocatorInfo", "extra");
    const auto each = names.bytes("ErtsAllocatorInfo");
    const auto literal = names.constant("allocator_literal");
    const auto mapper = names.field("Allctr", "mseg_mmapper");
    RETURN_IF_ERROR(names.outcome());
    ASSIGN_OR_RETURN(const auto instance,
                     vm.memory().word(allocators + literal * each + extra.offset));
    ASSIGN_OR_RETURN(const auto found, vm.memory().word(instance + mapper.offset));
    if (!vm.plausible(found, sizeof(Address))) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("literal_alloc: expected its memory mapper, found {:#x}", found));
    }
    return found;
}

std::unexpected<Error> unknown(std::string_view what) {
    return fail(ErrorCode::kAbsent, fmt::format("{} is not known", what));
}

}  // namespace

std::optional<Address> VmFinder::global_if_any(std::string_view name, const Search& search,
                                               std::vector<std::string>& not_found,
                                               std::string_view how) {
    const auto found = global(name, how, search);
    if (!found) {
        not_found.push_back(fmt::format("{} was not found: {}", name, found.error().message));
        return std::nullopt;
    }
    return *found;
}

/// What says where the memory is. A node without one of these is captured without what it says.
void VmFinder::find_memory_tables() {
    auto& memory = tables_.memory;
    memory.thread_allocators = global_if_any(
        "erts_allctr_thr_spec", [&] { return find_thread_allocators(vm_, search_); },
        memory.not_found);
    memory.allocators = global_if_any(
        "erts_allctrs_info",
        [&]() -> Result<Address> {
            return memory.thread_allocators
                       ? find_allocators(vm_, search_, *memory.thread_allocators)
                       : unknown("erts_allctr_thr_spec");
        },
        memory.not_found);
    // The name is that of a pointer to the array.
    if (const auto symbol = symbols_.find("aligned_mseg_allctr")) {
        if (const auto array = vm_.memory().word(symbol->address)) {
            memory.segment_allocators = *array;
            note("aligned_mseg_allctr", symbol->address, symbol->table);
        }
    } else {
        memory.segment_allocators = global_if_any(
            "aligned_mseg_allctr", [&] { return find_segment_allocators(vm_, search_); },
            memory.not_found);
    }
    memory.literal_mapper = global_if_any(
        "erts_literal_mmapper",
        [&]() -> Result<Address> {
            return memory.allocators ? literal_mapper_of(vm_, *memory.allocators)
                                     : unknown("erts_allctrs_info");
        },
        memory.not_found);
    memory.default_mapper = global_if_any(
        "erts_dflt_mmapper",
        [&]() -> Result<Address> {
            return memory.literal_mapper ? find_default_mapper(vm_, search_, *memory.literal_mapper)
                                         : unknown("erts_literal_mmapper");
        },
        memory.not_found);
    memory.code_ranges =
        global_if_any("r", [&] { return find_code_ranges(vm_, search_); }, memory.not_found);
    // These have no shape: one is the sum of the modules' code, the other is not known without.
    const auto named = [&](std::string_view name) -> std::optional<Address> {
        const auto symbol = symbols_.find(name);
        if (!symbol) {
            return std::nullopt;
        }
        note(name, symbol->address, symbol->table);
        return symbol->address;
    };
    memory.code_bytes = named("erts_total_code_size");
    memory.ets_bytes = named("erts_ets_misc_mem_size");
}

void VmFinder::find_other_tables() {
    auto& other = tables_.other;
    other.persistent_terms = global_if_any(
        "the_hash_table", [&] { return find_persistent_terms(vm_, search_); }, other.not_found);
    other.distribution = global_if_any(
        "erts_dist_table", [&] { return find_hash(vm_, search_, "erts_dist_table", "dist_table"); },
        other.not_found, kByName);
}

}  // namespace beamdump::beam
