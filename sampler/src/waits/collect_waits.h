#pragma once

#include <libdump/profile/profile.h>
#include <libdump/profile/stack_tree.h>
#include <libsample/stack/process_stacks.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::sampler {

struct WaitsOptions {
    std::chrono::milliseconds duration{10'000};
    SamplesBy by = SamplesBy::kNone;  ///< by properties of processes only
    std::size_t frames = 100;         ///< of a stack
};

/// Processes that wait at one place in the last reading.
struct WaitCount {
    std::uint64_t waiting = 0;
    std::uint64_t not_run = 0;  ///< of those: not seen to have run since the first reading
    /// How long the processes are known to wait without having run: at least so long.
    std::int64_t shortest_ns = 0, longest_ns = 0;

    void add(std::int64_t waited_ns, bool since_first);
};

/// Where processes wait and how that was found.
struct WaitsReport {
    std::string node;
    std::string otp_release;
    pid_t pid = 0;
    std::int64_t began_us = 0;  ///< since the epoch
    std::int64_t took_ns = 0;
    std::uint64_t readings = 0;     ///< of all processes; stacks are of the last one
    std::int64_t expected_ns = 0;   ///< how long the last reading was expected to take
    std::int64_t processor_ns = 0;  ///< processor time of this program for that
    SamplesBy by = SamplesBy::kNone;
    StackTree stacks{};  ///< weights: processes that wait; with `by` the group is outermost
    std::map<std::uint32_t, WaitCount> by_stack{};       ///< by node of stacks
    std::map<std::string, WaitCount> by_function{};      ///< by innermost function
    std::map<std::string, std::uint64_t> not_waiting{};  ///< by status
    std::map<StackMiss, std::uint64_t> missed{};  ///< processes whose stack could not be read
    std::uint64_t left_out = 0;                   ///< waiting, but there were too many stacks
    std::uint64_t not_followed = 0;               ///< processes too many to follow
    std::vector<std::string> remarks{};

    [[nodiscard]] bool complete() const {
        return missed.empty() && left_out == 0 && not_followed == 0;
    }
};

/// Reads, again and again for a time or until `cancelled`, which processes have run, then the
/// stacks of those that wait. Nothing of the node is stopped or changed. At most half of one
/// processor is used. Memory: bounded. kLimit: reading the stacks took far longer than the first
/// reading let expect; there is no answer then.
Result<WaitsReport> collect_waits(ObservedNode& node, const WaitsOptions& options,
                                  const std::atomic<bool>& cancelled);

}  // namespace beamdump::sampler
