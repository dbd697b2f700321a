#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace beamdump {

/// The kind of a file that is not a dump, by its first bytes, as the end of a sentence: "is
/// compressed with gzip; ...". Never empty.
std::string describe_other_file(std::span<const std::byte> first_bytes);

}  // namespace beamdump
