#pragma once

#include <string_view>

namespace beamdump {

/// What a file is, by its first bytes (512 tell most), that may hold a dump, and how to get at
/// that; empty where it is nothing of that kind: "is a tar archive; ...".
std::string_view packed_in(std::string_view start);

}  // namespace beamdump
