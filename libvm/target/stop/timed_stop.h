#pragma once

#include <libvm/target/stop/settle.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <sys/types.h>
#include <vector>

namespace beamdump::target {

/// How long before the end of a stop's time its threads are resumed: this takes time of its own, as
/// does waking up for it.
std::chrono::nanoseconds resume_margin(std::chrono::nanoseconds longest);

/// How often a stop is tried, and the time between two attempts (TimedStop::begin_repeatedly(), and
/// the stop for a twin).
inline constexpr int kStopAttempts = 3;
inline constexpr std::chrono::milliseconds kBetweenStopAttempts{50};

/// When a stop ends by itself, and what it is for.
struct TimedStopTerms {
    /// How long the node may be held, stopping and resuming its threads included (see
    /// resume_margin()), in all attempts together; all threads must stand within stand_within() it.
    /// Nothing: until end(), but for all threads to stand StopTerms::within.
    std::optional<std::chrono::nanoseconds> longest = std::nullopt;
    /// Its time is part of the stop.
    std::optional<Settling> settling = std::nullopt;
    /// StopTerms::only.
    std::vector<pid_t> only = {};
    /// Asked every few milliseconds, on a thread of the stop's own: true ends the stop.
    std::function<bool()> cut_short = {};
    /// Non-owning; null: nobody is notified of the stop.
    StopTracker* stops = nullptr;
};

/// All threads of a process stopped for at most a given time: kept by a thread of its own, so that
/// the process runs on when the time is up, whatever its copier waits for. Ends with the object.
class TimedStop {
  public:
    /// Errors as ThreadStop::stop; nothing is stopped or traced any more then.
    static Result<TimedStop> begin(pid_t pid, TimedStopTerms terms = {});

    /// Begins a stop, at the third attempt at the latest where a busy machine is all that keeps the
    /// threads from standing in time, and if `longest` leaves time for it. The later attempts do
    /// not settle: threads that are resumed for it may take long. `again`, if any, is called before
    /// each of these.
    static Result<TimedStop> begin_repeatedly(pid_t pid, TimedStopTerms terms,
                                              const std::function<void()>& again = {});

    TimedStop(TimedStop&&) noexcept;
    TimedStop& operator=(TimedStop&&) noexcept;
    ~TimedStop();

    /// With `settling`: of the threads at work, as they stand.
    [[nodiscard]] const std::vector<ThreadRegisters>& registers() const;

    /// The time is up: the process runs, or may run from here on.
    [[nodiscard]] bool expired() const;
    /// Since the stop began.
    [[nodiscard]] std::chrono::nanoseconds elapsed() const;

    /// Lets the process run on, if it does not yet; gives what the stop cost.
    StopCost end();

  private:
    struct Keeper;
    explicit TimedStop(std::unique_ptr<Keeper> keeper);
    std::unique_ptr<Keeper> keeper_;
};

}  // namespace beamdump::target
