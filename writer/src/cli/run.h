#pragma once

#include "capture/capture.h"

#include <libvm/nodes/node_choice.h>
#include <program/streams.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace beamdump::cli {

/// capture::capture_node, or a substitute in a test.
using CaptureFunction = std::function<Result<capture::CaptureReport>(
    const capture::CaptureOptions&, const capture::MakeWriter&, capture::ProgressListener&,
    const std::atomic<bool>&)>;

/// nodes::find_node, or a substitute in a test.
using FindNode = std::function<Result<pid_t>(std::string_view, const beam::LocateOptions&)>;

/// Samples a node for a time, for the dump.
using TakeSamples = std::function<Result<ProfileReport>(
    pid_t, const beam::LocateOptions&, std::chrono::milliseconds, const std::atomic<bool>&)>;

/// The program: parses the arguments (without the program's name), captures, reports. Returns the
/// exit status: 0 done, 1 failed, 2 wrong usage, 3 done but incomplete. `holds`, non-owning, is
/// notified of stops.
int run(const std::vector<std::string>& arguments, program::Streams& streams,
        const CaptureFunction& capture, const std::atomic<bool>& cancelled,
        target::StopTracker* stops = nullptr, const FindNode& find_node = nodes::find_node,
        const TakeSamples& take_samples = {});

}  // namespace beamdump::cli
