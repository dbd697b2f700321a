#pragma once

#include "target/settle.h"

#include <chrono>
#include <memory>
#include <optional>

namespace beamdump::target {

/// All threads of a process stopped for at most a given time: kept by a thread of its own, so that
/// the process runs on when the time is up, whatever its copier waits for. Ends with the object.
class TimedStop {
  public:
    /// Errors as ThreadStop::stop. Without `limit` it lasts until end(). `settling`: see settle();
    /// its time is part of the stop.
    static Result<TimedStop> begin(pid_t pid, std::optional<std::chrono::nanoseconds> limit,
                                   std::optional<Settling> settling = std::nullopt);

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
