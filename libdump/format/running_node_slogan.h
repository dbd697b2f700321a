#pragma once

#include <string_view>

namespace beamdump::format {

/// Begins the slogan of a crash dump's text that beamdump-analyze wrote of a running node. Such a
/// text has no sections of ports, timers, ETS tables and other nodes.
inline constexpr std::string_view kRunningNodeSlogan = "No crash: beamdump-capture";

}  // namespace beamdump::format
