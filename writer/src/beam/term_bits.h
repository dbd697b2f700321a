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

}  // namespace beamdump::beam
