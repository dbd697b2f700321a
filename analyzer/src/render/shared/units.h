#pragma once

#include <libdump/base/amount_text.h>

#include <cstdint>
#include <string>

namespace beamdump::render {

/// With a sign: "+1.5 KiB".
std::string byte_change_text(std::int64_t bytes);
std::string count_change_text(std::int64_t count);
/// 812300000 as "812 ms"; two units from minutes on: "3 d 4 h".
std::string duration_text(std::int64_t nanoseconds);
/// Tenths of a percent as "41.5%".
std::string tenths_text(std::uint64_t tenths);
/// Microseconds since the Unix epoch as "2026-01-31 07:42:39 UTC".
std::string time_text(std::int64_t microseconds);

}  // namespace beamdump::render
