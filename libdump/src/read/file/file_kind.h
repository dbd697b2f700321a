#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace beamdump {

/// What a file that is not a dump seems to be, by its first bytes, as the end of a sentence: "is
/// compressed with gzip; ...". Says something of every file.
std::string describe_other_file(std::span<const std::byte> first_bytes);

}  // namespace beamdump
