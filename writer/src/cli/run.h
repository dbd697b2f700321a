#pragma once

#include "capture/capture.h"
#include "cli/streams.h"

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace beamdump::cli {

/// capture::capture_node, or something else in a test.
using CaptureFunction = std::function<Result<capture::CaptureReport>(
    const capture::CaptureOptions&, const capture::MakeWriter&, capture::ProgressListener&,
    const std::atomic<bool>&)>;

/// The program: reads the arguments (without the program's name), captures, reports. Gives the exit
/// status: 0 done, 1 failed, 2 wrong usage, 3 done but incomplete. `holds`, non-owning: told of
/// stops.
int run(const std::vector<std::string>& arguments, Streams& streams, const CaptureFunction& capture,
        const std::atomic<bool>& cancelled, target::StopTracker* stops = nullptr);

/// Once, at the start of the process: a closed output is an error, not a signal, and when memory
/// runs out this process is the first to go, not the node.
void prepare_process();

}  // namespace beamdump::cli
