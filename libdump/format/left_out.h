#pragma once

#include <string_view>

namespace beamdump::format {

/// Begins what the detail (ProcessEnd.detail) says of a process that was captured in the middle of
/// its current function, behind what it says otherwise and "; ". Terms that only the places named
/// behind it refer to may not be in the dump: "left out: x registers, frame", or "left out: machine
/// registers" where all x registers are.
inline constexpr std::string_view kLeftOut = "left out: ";
inline constexpr std::string_view kBetweenDetails = "; ";

}  // namespace beamdump::format
