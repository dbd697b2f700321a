#pragma once

#include "command/options.h"

#include <libdump/text/output.h>
#include <libvm/target/stop/stop_tracker.h>
#include <program/streams.h>

#include <atomic>
#include <string>
#include <vector>

namespace beamdump::sampler {

/// The program: parses the arguments (without the program's name) and runs the command. Returns the
/// exit status: 0 done, 1 failed, 2 wrong usage, 3 done but incomplete.
int run(const std::vector<std::string>& arguments, program::Streams& streams,
        const std::atomic<bool>& cancelled, target::StopTracker& stops);

/// Runs a command that asks a node, and writes its answer to `output`. Returns the exit status; the
/// sentences of its end are in `streams.err`.
int ask_node(const Command& command, program::Streams& streams, Output& output,
             const std::atomic<bool>& cancelled, target::StopTracker& stops);

}  // namespace beamdump::sampler
