#pragma once

#include <libdump/base/error.h>
#include <libvm/target/stop/stop_tracker.h>
#include <program/streams.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>

namespace beamdump::program {

/// Makes sure that enough descriptors are allowed: without them a file that cannot be opened would
/// be taken for one that does not exist. kLimit.
Result<void> ensure_descriptors();

/// Exit statuses of programs that read a node.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUsage = 2;
inline constexpr int kIncomplete = 3;

/// Writes the error as one line of the program; returns the exit status for it.
int give_up(Streams& streams, std::string_view program, const Error& error);

using Run = std::function<int(Streams&, const std::atomic<bool>& cancelled, target::StopTracker&)>;

/// Whether a program stops nodes itself; then it needs a guardian, a process beside it.
enum class Stops : std::uint8_t { kGuarded, kNever };

/// main() of a program that reads a node: before any thread is made it starts the guardian,
/// prepares this process and takes over its signals. What ends the program otherwise ends it with a
/// sentence. Returns the exit status.
int run_as_main(std::string_view program, const Run& run, Stops stops = Stops::kGuarded);

}  // namespace beamdump::program
