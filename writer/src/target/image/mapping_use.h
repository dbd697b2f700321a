#pragma once

#include "target/image/mappings.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace beamdump::target {

/// A mapping and how much of it is in memory (/proc/PID/smaps). A page that a process maps twice
/// counts in both mappings.
struct MappingUse {
    Mapping mapping;
    std::uint64_t resident_bytes = 0;  ///< Rss
    std::uint64_t swapped_bytes = 0;   ///< Swap
};

/// Parses /proc/PID/smaps (Linux' Documentation/filesystems/proc.rst). kImplausible where it is not
/// as documented: a mapping without Rss.
Result<std::vector<MappingUse>> parse_mapping_use(std::string_view text);

}  // namespace beamdump::target
