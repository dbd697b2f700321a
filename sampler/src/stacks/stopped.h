#pragma once

#include "stacks/collect.h"

namespace beamdump::sampler {

/// collect_stacks() in one stop of all threads of the node, of at most options.max_pause. What does
/// not fit into it is counted, not read. Memory: the stacks that were read.
Result<void> read_in_a_stop(ObservedNode& node, ProcessStacks& stacks, const StacksOptions& options,
                            target::StopTracker& stops, const std::atomic<bool>& cancelled,
                            const StacksListener& listener, StacksReport& report);

}  // namespace beamdump::sampler
