#pragma once

#include <string_view>

namespace beamdump::format {

/// Begins the detail (ProcessEnd.detail) of a process that was running at each look of the capture,
/// void or captured in a stop, in one piece: "it ran without a pause for at least 312 ms".
inline constexpr std::string_view kUnpausedRun = "it ran without a pause for at least ";

}  // namespace beamdump::format
