#pragma once

#include "query/waits/call_waits.h"
#include "query/waits/wait_graph.h"

#include <libdump/base/error.h>

#include <string>
#include <vector>

namespace beamdump::query {

/// Adds what the emulator's state tells of waits: for permissions and their holders, thread
/// progress and the schedulers that hold it up, system tasks, busy connections, and processes that
/// suspend others. `untold`: a sentence for each thing that is not known.
Result<void> add_emulator_waits(Dump& dump, const ProcessRows& rows, WaitGraph& graph,
                                std::vector<std::string>& untold);

}  // namespace beamdump::query
