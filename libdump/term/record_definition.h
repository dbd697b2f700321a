#pragma once

#include <cstdint>

/// Word positions in a native record's definition beside those of term_scheme.h (erl_record.h,
/// ErtsRecordDefinition, 29.1.1), for whoever writes records.
namespace beamdump::otp29 {

inline constexpr std::uint64_t kDefinitionOrder = 1;  ///< a tuple: the place of each declared key
inline constexpr std::uint64_t kDefinitionHash = 2;
inline constexpr std::uint64_t kDefinitionExported = 5;  ///< true or false

}  // namespace beamdump::otp29
