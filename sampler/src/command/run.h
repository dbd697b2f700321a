#pragma once

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

}  // namespace beamdump::sampler
