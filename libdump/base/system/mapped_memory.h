#pragma once

#include <cstdint>

namespace beamdump::system {

/// Memory for reading and writing, which takes room when it is written. MAP_FAILED: errno says why.
void* map_memory(std::uint64_t bytes);

/// Enlarges a mapping of map_memory(), or with `file` one of that whole file, which is shared and
/// as large already. Gives its new place; MAP_FAILED: errno says why, and it is as it was.
void* enlarge_mapping(void* begin, std::uint64_t bytes, std::uint64_t wanted, int file);

}  // namespace beamdump::system
