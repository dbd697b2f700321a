#pragma once

#include <libsample/native/thread_image.h>
#include <libsample/stack/process_stacks.h>
#include <libvm/target/stop/stop_tracker.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::sampler {

struct StacksOptions {
    bool all = false;   ///< of every process, not only of those that schedulers run
    bool stop = false;  ///< in one stop of the node
    std::chrono::milliseconds max_pause{50};
    std::size_t frames = 100;  ///< of a stack
    /// How long what keeps changing, or runs, is tried.
    std::chrono::milliseconds patience{500};
};

/// A scheduler and what it runs.
struct SchedulerStack {
    records::SchedulerKind kind = records::SCHEDULER_KIND_NORMAL;
    std::uint32_t number = 0;
    std::optional<pid_t> thread{};
    std::optional<std::uint64_t> owner_id{};     ///< of the process that it has
    std::optional<std::uint64_t> port_number{};  ///< of the port that it has
    std::optional<ProcessStack> stack{};         ///< of what it ran when that was read
    std::optional<StackMiss> miss{};             ///< why there is none of a process
    /// What its thread did in the native call that the stack is of, if that is known.
    std::optional<ThreadImage> image{};
    /// By `image`: native functions, the innermost first, above those of the stack.
    std::vector<std::string> native_frames{};
    bool more_native = false;  ///< they do not lead to the Erlang code that called
};

/// What all stacks are of, and how reading them went.
struct StacksReport {
    std::string node;
    std::string otp_release;
    pid_t pid = 0;
    std::int64_t read_us = 0;  ///< since the epoch, when reading began
    std::int64_t took_ns = 0;
    std::optional<std::int64_t> stopped_ns{};  ///< how long the node stood
    std::uint64_t shown = 0;
    std::uint64_t repeated = 0;  ///< tries that did not hold
    /// Processes without a stack, by reason; those that ended are not counted.
    std::map<StackMiss, std::uint64_t> missed{};
    std::uint64_t not_read = 0;  ///< processes that the stop was too short for
    std::vector<std::string> remarks{};

    [[nodiscard]] bool complete() const { return missed.empty() && not_read == 0; }
};

/// Receives what is found: the schedulers first, then with StacksOptions::all each process.
struct StacksListener {
    std::function<Result<void>(const SchedulerStack&)> scheduler;
    std::function<Result<void>(const ProcessStack&)> process;
};

/// Reads the stacks of a node. Without `stop` nothing of the node is stopped. `stops`, non-owning,
/// is told of the stop. Memory: bounded, 16 bytes for each process that is tried again. kIo:
/// cancelled. Errors of the listener end it.
Result<StacksReport> collect_stacks(ObservedNode& node, const StacksOptions& options,
                                    target::StopTracker& stops, const std::atomic<bool>& cancelled,
                                    const StacksListener& listener);

}  // namespace beamdump::sampler
