#pragma once

namespace beamdump {

/// When memory runs out, the kernel ends this process first (oom_score_adj of 1000, inherited by
/// its children): not a node beside which it runs. Best effort: not every sandbox allows it. Makes
/// system calls only, so that it can be called before anything is initialised. posix: nothing.
void be_first_to_go();

}  // namespace beamdump
