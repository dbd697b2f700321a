#pragma once

#include <cstdint>

namespace beamdump::beam {

/// Bits of a term's word that no release has changed (erl_term.h, OTP 21 to 29). What differs
/// between releases is in the layouts' constants.
inline constexpr std::uint64_t kPrimaryMask = 0x3;
inline constexpr std::uint64_t kPrimaryHeader = 0x0;
inline constexpr std::uint64_t kPrimaryList = 0x1;
inline constexpr std::uint64_t kPrimaryBoxed = 0x2;
/// Primary tag and subtag of a header word.
inline constexpr std::uint64_t kHeaderTagMask = 0x3f;

constexpr bool is_boxed(std::uint64_t word) {
    return (word & kPrimaryMask) == kPrimaryBoxed;
}
/// What a boxed term's word points to; OTP 25 to 28 may mark pointers to literals in bit 2.
constexpr std::uint64_t boxed_address(std::uint64_t word) {
    return word & ~std::uint64_t{7};
}

}  // namespace beamdump::beam
