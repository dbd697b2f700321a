#pragma once

#include "stacks/collect.h"

#include <span>

namespace beamdump::sampler {

/// Fills in the native frames of schedulers that have an image. `structures`: theirs, in the same
/// order. Frames that lead to another place in Erlang code than the call returns to were not
/// unwound rightly, and are left out. What is not to be had is a remark of the report.
void name_native_frames(ObservedNode& node, ProcessStacks& stacks,
                        std::span<const Address> structures, std::span<SchedulerStack> schedulers,
                        StacksReport& report);

}  // namespace beamdump::sampler
