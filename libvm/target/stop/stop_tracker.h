#pragma once

#include <libdump/base/error.h>
#include <libvm/target/stop/guardian.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

namespace beamdump::target {

struct StopCost {
    std::int64_t begin_monotonic_ns = 0;
    std::int64_t length_ns = 0;  ///< from the first thread's stop to the last one's resumption
    std::uint32_t threads = 0;
};

/// All stops of a node by this process, including failed ones: a stop lasts from before the first
/// thread is stopped until all are resumed. Thread-safe; one stop at a time.
class StopTracker {
  public:
    /// Protected by a guardian, or by none; non-owning.
    explicit StopTracker(Guardian* guardian = nullptr) : guardian_(guardian) {}
    /// Refuses every stop with that error.
    explicit StopTracker(Error refusal) : refusal_(std::move(refusal)) {}
    StopTracker(const StopTracker&) = delete;
    StopTracker& operator=(const StopTracker&) = delete;
    ~StopTracker() = default;

    /// Call before the first thread is stopped. `deadline_ns`: of CLOCK_MONOTONIC. kLimit: the
    /// guardian is missing, and nothing may be stopped without it.
    Result<void> begin(std::int64_t deadline_ns);
    /// Moves the deadline.
    void extend(std::int64_t deadline_ns);
    /// Whether this process was stopped (SIGSTOP) during the stop of the node, which
    /// must then end now.
    [[nodiscard]] bool interrupted() const;
    /// Records the cost of an attempt, if it stopped anything.
    void add(const StopCost& cost);
    /// Call when no thread is stopped or traced any more. Further calls do nothing. If this process
    /// was stopped and continued only to end the node's stop, it stops again here.
    void end();

    /// In the order in which they ended.
    [[nodiscard]] std::vector<StopCost> costs() const;

    /// Calls `action` between two stops; none begins during it.
    void between(const std::function<void()>& action);
    /// Calls `action` unless a stop is under way; none begins during it.
    void if_free(const std::function<void()>& action);

  private:
    Guardian* guardian_ = nullptr;
    std::optional<Error> refusal_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool held_ = false;
    bool kept_off_ = false;  // nothing may be stopped
    std::vector<StopCost> costs_;
};

}  // namespace beamdump::target
