#pragma once

#include <cstdint>

namespace beamdump::beam {

/// Tag bits of a term's word that are the same in all releases (erl_term.h, OTP 21 to 29). Others
/// are constants of the layouts.
inline constexpr std::uint64_t kPrimaryMask = 0x3;
inline constexpr std::uint64_t kPrimaryHeader = 0x0;
inline constexpr std::uint64_t kPrimaryList = 0x1;
inline constexpr std::uint64_t kPrimaryBoxed = 0x2;
inline constexpr std::uint64_t kPrimaryImmediate = 0x3;
/// Primary tag, and the bit that marks pointers to literals in OTP 25 to 28.
inline constexpr std::uint64_t kPointerMask = 0x7;
/// Primary tag and subtag of a header word.
inline constexpr std::uint64_t kHeaderTagMask = 0x3f;
/// Above these bits a header word has its arity.
inline constexpr unsigned kHeaderArityShift = 6;
/// The bits of an immediate pid or port that are its tag.
inline constexpr std::uint64_t kImmediateTagMask = 0xf;

constexpr bool is_boxed(std::uint64_t word) {
    return (word & kPrimaryMask) == kPrimaryBoxed;
}
/// The address in a boxed term's word; OTP 25 to 28 may mark pointers to literals in bit 2.
constexpr std::uint64_t boxed_address(std::uint64_t word) {
    return word & ~std::uint64_t{7};
}

}  // namespace beamdump::beam
