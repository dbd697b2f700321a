#pragma once

#include <libvm/beam/checks/vm_check.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace beamdump::fit {

/// Structures and constants that releases change together and that one check verifies.
struct LayoutPart {
    std::string_view name;                         ///< for people: "links and monitors"
    std::vector<std::string_view> structs;         ///< none: all that no other part names
    std::vector<std::string_view> constants;       ///< beginnings of names
    std::optional<beam::CheckStage> decided_by{};  ///< none: by finding the tables, or not at all
    bool needed = true;                            ///< without it there is no capture
    bool seen_by_checks = true;                    ///< false: readers use it, no check does
};

/// All parts; the last one contains everything else: the term scheme.
std::span<const LayoutPart> layout_parts();

/// The part that a structure or constant belongs to, as an index into layout_parts().
std::size_t part_of_structure(std::string_view name);
std::size_t part_of_constant(std::string_view name);

/// Whether structures of this kind are adjacent in memory, so that their size locates the next one.
bool is_array_element(std::string_view structure);

}  // namespace beamdump::fit
