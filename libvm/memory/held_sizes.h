#pragma once

#include <cstddef>
#include <cstdint>

namespace beamdump::memory {

/// How much of the target, and of tables about it, is held at a time (docs/capture.md, "Memory of
/// the writer"). Nothing of it changes what is captured but `row_bytes`.
struct HeldSizes {
    /// Blocks of the cache through which pointers are followed, of 16 KiB each.
    std::size_t cache_blocks = 256;
    /// Contents of small processes that are read together, and of one before it is copied.
    std::size_t contents_bytes = 1U << 20U;
    /// Processes that are read together.
    std::size_t processes = 128;
    /// Slots of the tables of binaries, of 16 bytes each; a power of two.
    std::size_t binary_slots = 512U << 10U;
    /// Blocks beside a region in which lists of characters are followed, of a page each.
    std::size_t list_blocks = 256;
    /// Larger rows of ETS tables and persistent terms are left out.
    std::uint64_t row_bytes = 8U << 20U;
};

/// Where little memory is left.
inline constexpr HeldSizes kSmallSizes{.cache_blocks = 64,
                                       .contents_bytes = 128U << 10U,
                                       .processes = 32,
                                       .binary_slots = 32U << 10U,
                                       .list_blocks = 64,
                                       .row_bytes = 512U << 10U};

}  // namespace beamdump::memory
