#pragma once

#include <libvm/target/image/mappings.h>

#include <cstdint>

namespace beamdump::target {

/// A mapping and how much of it is in memory. A page that a process maps twice counts in both
/// mappings.
struct MappingUse {
    Mapping mapping;
    std::uint64_t resident_bytes = 0;
    std::uint64_t swapped_bytes = 0;
};

}  // namespace beamdump::target
