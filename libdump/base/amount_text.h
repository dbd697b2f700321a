#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace beamdump {

/// 1536 as "1.5 KiB", 12 as "12 B".
std::string bytes_text(std::uint64_t bytes);

/// 1536 MiB as "1536.0 MiB": one unit, for amounts that a sentence compares.
std::string mebibytes_text(std::uint64_t bytes);

/// 1234567 as "1,234,567".
std::string count_text(std::uint64_t count);

/// 1 and "page" as "1 page", 1234 and "page" as "1,234 pages". For nouns whose plural takes an s.
std::string counted(std::uint64_t count, std::string_view noun);
/// 2, "process" and "processes" as "2 processes".
std::string counted(std::uint64_t count, std::string_view one, std::string_view many);

}  // namespace beamdump
