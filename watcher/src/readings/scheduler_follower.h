#pragma once

#include "rules/quantity.h"

#include <libvm/beam/activity/schedulers.h>
#include <libvm/target/process/kept_files.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace beamdump::watch {

/// What the schedulers of a node had at one moment.
struct SchedulersSeen {
    /// A process that a scheduler has; two that are equal: it was not taken from it meanwhile.
    struct Running {
        std::uint64_t owner_id = 0;
        std::uint64_t reductions = 0;  ///< those of the time slice under way are not in it
        bool operator==(const Running&) const = default;
    };
    std::uint64_t reductions = 0;              ///< of all processes, as they leave schedulers
    std::uint64_t ready = 0;                   ///< processes and ports in all normal run queues
    std::map<std::uint32_t, Running> running;  ///< by number of a normal scheduler
};

/// Follows the normal schedulers of a node from one reading to the next.
class SchedulerFollower {
  public:
    using Time = std::chrono::milliseconds;

    /// Adds Quantity::kStalled and kHeld. Times are of a clock that stands while the machine
    /// sleeps. What happens between two readings is not seen.
    void follow(Time now, const SchedulersSeen& seen, Measurements& into);

    /// Adds Quantity::kSchedulerTime from the second reading on: percent of the processor time that
    /// the threads of all normal schedulers could have had since the reading before. Busy waiting
    /// counts as all else. Nothing is added where it cannot be read.
    void read_time(pid_t pid, target::KeptFiles& files, Measurements& into);

  private:
    struct Held {
        SchedulersSeen::Running running;
        Time since{};
    };
    std::optional<std::uint64_t> reductions_;
    std::optional<Time> stalled_since_;
    std::map<std::uint32_t, Held> held_;
    std::vector<std::string> time_files_;  // one for each scheduler's thread
    struct Spent {
        std::int64_t at_ns = 0;
        std::uint64_t processor_ns = 0;
    };
    std::optional<Spent> spent_;
};

/// Reads them. Errors as beam::SchedulerReader's. A scheduler that changes while it is read has no
/// process that it could be said to have had for long.
Result<SchedulersSeen> read_schedulers(beam::Vm& vm);

}  // namespace beamdump::watch
