#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/search/candidates.h>
#include <libvm/beam/search/literals.h>
#include <libvm/beam/tables/modules.h>

#include <algorithm>

namespace beamdump::beam {
namespace {

// erl_mmap.c: one gigabyte unless +MIscs says another number of megabytes.
constexpr std::uint64_t kFewestBytes = 1U << 20U;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40U;

/// A module's literal area; nothing if it has none, if it lies inside of what is known, or if the
/// module is purged meanwhile.
Result<std::optional<memory::AddressRange>> literal_area(Vm& vm, const ModuleCode& module,
                                                         const CodeHeaderFields& header,
                                                         const LiteralAreaFields& area,
                                                         const memory::AddressRange& known) {
    const auto address = vm.memory().word(module.header + header.literal_area.offset);
    if (address && *address == 0) {
        return std::nullopt;
    }
    const auto last = address ? vm.memory().word(*address + area.end.offset) : address;
    // What lies between those of other modules tells nothing.
    const bool inside = last && known.begin <= *address && *last <= known.end;
    if (inside || !loaded_now(vm, module)) {
        return std::nullopt;
    }
    if (!last) {
        return std::unexpected(last.error());
    }
    return memory::AddressRange{*address + area.start.offset, *last};
}

/// From the first module's literal area to the end of the last.
Result<memory::AddressRange> literal_areas(Vm& vm) {
    LayoutNames names(vm.layout());
    const CodeHeaderFields header(names);
    const LiteralAreaFields area(names);
    RETURN_IF_ERROR(names.outcome());
    ASSIGN_OR_RETURN(auto modules, read_modules(vm));
    memory::AddressRange all{~Address{0}, 0};
    for (const auto& module : modules) {
        ASSIGN_OR_RETURN(const auto literals, literal_area(vm, module, header, area, all));
        if (literals) {
            all.begin = std::min(all.begin, literals->begin);
            all.end = std::max(all.end, literals->end);
        }
    }
    if (all.end <= all.begin) {
        return fail(ErrorCode::kImplausible,
                    "expected modules with literals, found none that has any");
    }
    return all;
}

/// Whether two words can be the range's start and size.
bool can_be_range(const Vm& vm, std::uint64_t start, std::uint64_t bytes,
                  const memory::AddressRange& areas) {
    const bool whole = start % memory::kPageBytes == 0 && bytes % memory::kPageBytes == 0;
    return whole && bytes >= kFewestBytes && bytes <= kMaxBytes && start <= areas.begin &&
           start + bytes >= areas.end && vm.plausible(start, sizeof(Address));
}

}  // namespace

Result<LiteralRange> find_literals(Vm& vm, const ImageSearch& search) {
    const auto areas = literal_areas(vm);
    if (!areas) {
        return wrap("looking for the literals", areas.error());
    }
    LiteralRange range;
    const auto candidates =
        search.matching(2 * sizeof(Address), [&](Address at, std::span<const std::byte> bytes) {
            const StructView words(bytes);
            const auto first = words.word({}, 0);
            const auto second = words.word({}, 1);
            if (can_be_range(vm, first, second, *areas)) {
                range = {at, at + sizeof(Address), first, second};
                return true;
            }
            if (can_be_range(vm, second, first, *areas)) {
                range = {at + sizeof(Address), at, second, first};
                return true;
            }
            return false;
        });
    RETURN_IF_ERROR(only_one("erts_literals_start",
                             "one pair of words, address and size, that holds the literals of all "
                             "modules",
                             candidates));
    return range;
}

}  // namespace beamdump::beam
