#pragma once

namespace beamdump::target {

/// What the injection of a twin uses: nothing on aarch64, where none can be made yet.
struct Gadgets {};
struct ThreadState;
class FrameChain;

}  // namespace beamdump::target
