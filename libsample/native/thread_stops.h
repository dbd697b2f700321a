#pragma once

#include <libdump/base/error.h>
#include <libdump/profile/profile_report.h>
#include <libsample/events/sample.h>
#include <libsample/events/threads.h>
#include <libvm/memory/memory_source.h>
#include <libvm/target/stop/timed_stop.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace beamdump::sampler {

/// Samples of a node's threads without perf events: one that runs is stopped for a moment, all
/// others go on.
class ThreadStops {
  public:
    /// A sample stands for `period` of a thread's processor time. Non-owning. `memory`: the node's.
    ThreadStops(pid_t pid, std::chrono::nanoseconds period, memory::MemorySource& memory,
                target::StopTracker& stops)
        : pid_(pid), period_(period), memory_(&memory), stops_(&stops) {}

    /// What a stopped thread shows, as far as it is known. `ended`: whether the stop has ended by
    /// itself, so that what was read of the node since may be of another moment.
    using Visit = std::function<Result<void>(const Sample&, const std::string& name,
                                             const std::function<bool()>& ended)>;
    /// To be called about once a period. Each thread that has used a period of processor time since
    /// its last sample, and uses or waits for a processor now, is stopped for 20 ms at most, one
    /// after the other. `visit` is called meanwhile, with its registers and with its stacks as far
    /// as they are there. kPermission; kTargetDied; what `visit` returns.
    Result<void> take(const Visit& visit);

    [[nodiscard]] const SampleStops& stops() const { return total_; }
    /// Samples that are lacking: take() was not called often enough.
    [[nodiscard]] std::uint64_t lost() const { return lost_; }
    /// Threads that did not stop in time: they had no processor.
    [[nodiscard]] std::uint64_t not_stopped() const { return not_stopped_; }

  private:
    struct Thread {
        std::string name;
        std::uint64_t used_ns = 0;    // of processor time, since its start
        std::uint64_t unseen_ns = 0;  // of it, not in a sample
    };
    Result<void> list_threads();
    Result<void> stop(pid_t id, const std::string& name, const Visit& visit);

    pid_t pid_;
    std::chrono::nanoseconds period_;
    memory::MemorySource* memory_;
    target::StopTracker* stops_;
    std::map<pid_t, Thread> threads_;
    std::chrono::steady_clock::time_point listed_{};
    SampleStops total_;
    std::uint64_t lost_ = 0;
    std::uint64_t not_stopped_ = 0;
};

}  // namespace beamdump::sampler
