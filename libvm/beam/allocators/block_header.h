#pragma once

#include <cstdint>

namespace beamdump::beam {

/// The word before an allocator's block (erl_alloc_util.h, OTP 25 to 29, 64 bits).
struct BlockHeader {
    static constexpr std::uint64_t kThisFree = 1;
    static constexpr std::uint64_t kPreviousFree = 2;
    static constexpr std::uint64_t kLast = 4;
    static constexpr std::uint64_t kFlags = 7;
    static constexpr std::uint64_t kTagged = std::uint64_t{1} << 63U;
    /// Bits 40 to 62 of a used block in a carrier of several: its carrier's distance.
    static constexpr unsigned kOffsetShift = 40;
    static constexpr std::uint64_t kOffsetMask = ((std::uint64_t{1} << 23U) - 1) << kOffsetShift;
    static constexpr unsigned kOffsetUnitShift = 14;
    static constexpr std::uint64_t kLeastBlockBytes = 2 * sizeof(std::uint64_t);

    std::uint64_t word = 0;

    /// Also of the one block of a carrier, which is in use: see is_single().
    [[nodiscard]] bool is_free() const { return (word & kThisFree) != 0; }
    /// In the list of blocks that other threads gave back: a carrier that its owner gets back.
    [[nodiscard]] bool is_homecoming() const { return (word & kFlags) == (kThisFree | kLast); }
    /// The one block of a carrier.
    [[nodiscard]] bool is_single() const { return (word & kFlags) == kFlags; }
    [[nodiscard]] bool previous_is_free() const { return (word & kPreviousFree) != 0; }
    [[nodiscard]] bool is_tagged() const { return (word & kTagged) != 0; }
    [[nodiscard]] bool is_last() const { return (word & kLast) != 0; }
    /// In units of 1 << kOffsetUnitShift bytes.
    [[nodiscard]] std::uint64_t carrier_distance() const {
        return (word & kOffsetMask) >> kOffsetShift;
    }
    /// The bytes of a block in a carrier of several, header included.
    [[nodiscard]] std::uint64_t bytes() const {
        return word & ~(kFlags | kTagged | (is_free() ? 0 : kOffsetMask));
    }
    /// Those of the one block of a carrier, header included.
    [[nodiscard]] std::uint64_t single_bytes() const { return word & ~(kFlags | kTagged); }
};

}  // namespace beamdump::beam
