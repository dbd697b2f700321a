#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace beamdump::crash {

/// How far from the front of a text a crash dump may begin.
inline constexpr std::size_t kMostLeadingBytes = std::size_t{1} << 20U;

/// Where the line `=erl_crash_dump` is in the front of a text: behind a byte order mark of UTF-8,
/// or lines of others, such as those of a log that the dump was written into. Nothing where there
/// is none.
std::optional<std::size_t> find_dump_begin(std::string_view front);

}  // namespace beamdump::crash
