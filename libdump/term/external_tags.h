#pragma once

#include <cstdint>

namespace beamdump {

/// The version byte with which term_to_binary/1 begins.
inline constexpr std::uint8_t kExternalVersion = 131;

/// The byte that each term in external format begins with, by the names of
/// erts/emulator/beam/external.h (SMALL_INTEGER_EXT, ...; OTP 25.2.3, 27.3.4 and 29.1.1, which have
/// the same numbers). Without the tags that only the VM uses internally.
namespace external_tag {

inline constexpr std::uint8_t kRecord = 67;  ///< a native record, from OTP 29 on
inline constexpr std::uint8_t kNewFloat = 70;
inline constexpr std::uint8_t kBitBinary = 77;     ///< whose last byte is not whole
inline constexpr std::uint8_t kAtomCacheRef = 82;  ///< in what nodes send each other
inline constexpr std::uint8_t kNewPid = 88;
inline constexpr std::uint8_t kNewPort = 89;
inline constexpr std::uint8_t kNewerReference = 90;
inline constexpr std::uint8_t kSmallInteger = 97;
inline constexpr std::uint8_t kInteger = 98;
inline constexpr std::uint8_t kFloat = 99;  ///< as 31 characters of text
inline constexpr std::uint8_t kAtom = 100;  ///< in Latin 1
inline constexpr std::uint8_t kReference = 101;
inline constexpr std::uint8_t kPort = 102;
inline constexpr std::uint8_t kPid = 103;
inline constexpr std::uint8_t kSmallTuple = 104;
inline constexpr std::uint8_t kLargeTuple = 105;
inline constexpr std::uint8_t kNil = 106;
inline constexpr std::uint8_t kString = 107;
inline constexpr std::uint8_t kList = 108;
inline constexpr std::uint8_t kBinary = 109;
inline constexpr std::uint8_t kSmallBig = 110;
inline constexpr std::uint8_t kLargeBig = 111;
inline constexpr std::uint8_t kNewFun = 112;
inline constexpr std::uint8_t kExport = 113;
inline constexpr std::uint8_t kNewReference = 114;
inline constexpr std::uint8_t kSmallAtom = 115;  ///< in Latin 1
inline constexpr std::uint8_t kMap = 116;
inline constexpr std::uint8_t kAtomUtf8 = 118;
inline constexpr std::uint8_t kSmallAtomUtf8 = 119;
inline constexpr std::uint8_t kV4Port = 120;  ///< with a number of 8 bytes

}  // namespace external_tag
}  // namespace beamdump
