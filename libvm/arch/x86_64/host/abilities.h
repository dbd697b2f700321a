#pragma once

namespace beamdump::arch::host {

/// Whether this program can stop threads of a node, make its twin, and sample its threads.
inline constexpr bool kStops = true;
inline constexpr bool kMakesTwins = true;
inline constexpr bool kSamples = true;

}  // namespace beamdump::arch::host
