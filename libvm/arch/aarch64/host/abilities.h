#pragma once

namespace beamdump::arch::host {

/// Whether this program can stop threads of a node, make its twin, and sample its threads.
inline constexpr bool kStops = true;
inline constexpr bool kMakesTwins = false;
inline constexpr bool kSamples = false;

}  // namespace beamdump::arch::host
