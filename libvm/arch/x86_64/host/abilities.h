#pragma once

namespace beamdump::arch::host {

/// Whether this program can sample threads of a node.
inline constexpr bool kSamples = true;

}  // namespace beamdump::arch::host
