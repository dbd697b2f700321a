#pragma once

#include <libvm/beam/activity/schedulers.h>
#include <libvm/beam/vm/vm.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beamdump::sampler {

/// Threads of one scheduler, or of all that are none (number 0).
using ThreadGroup = std::pair<records::SchedulerKind, std::uint32_t>;

/// What a node uses at one moment.
struct NodeLoad {
    std::int64_t at_ns = 0;  ///< CLOCK_MONOTONIC, when the threads' times were read
    /// Processor time so far of each thread, in nanoseconds, by thread id.
    std::map<pid_t, std::pair<ThreadGroup, std::uint64_t>> threads{};
    /// Lengths of the normal schedulers' run queues, by scheduler; the dirty ones' have number 0.
    std::map<ThreadGroup, std::uint64_t> queues{};
    std::optional<std::uint64_t> resident_bytes{};
    /// erlang:memory/0's categories without atom: that needs a pass over all atoms.
    std::map<std::string, std::uint64_t> memory{};
};

/// The resident pages of a text of /proc/PID/statm, in bytes; nothing if the text is another.
std::optional<std::uint64_t> resident_bytes(std::string_view statm);
/// NodeLoad::queues. Only kTargetDied is an error.
Result<std::map<ThreadGroup, std::uint64_t>> read_queue_lengths(beam::Vm& vm);
/// NodeLoad::memory; empty where the allocators cannot be read.
std::map<std::string, std::uint64_t> read_categories(beam::Vm& vm);

/// Reads a node's load. What cannot be read is absent; only kTargetDied is an error.
Result<NodeLoad> read_load(beam::Vm& vm);

/// The part of the time between two readings that each scheduler's thread ran, 0 to 1; those of
/// threads that are in both. Number 0: all other threads together, in processors.
std::map<ThreadGroup, double> utilisation(const NodeLoad& before, const NodeLoad& after);

/// The first number of /proc/PID/task/ID/schedstat: nanoseconds on a processor (Linux'
/// Documentation/scheduler/sched-stats.rst). Nothing if the text is another.
std::optional<std::uint64_t> processor_ns(std::string_view schedstat);

/// The second number of that file: nanoseconds that the thread could have run, and waited for a
/// processor. Nothing if the text is another.
std::optional<std::uint64_t> delayed_ns(std::string_view schedstat);

/// utime and stime of a text of /proc/PID/stat: processor time of all threads, those that have
/// ended too, in ticks of sysconf(_SC_CLK_TCK). Nothing if the text is another.
std::optional<std::uint64_t> processor_ticks(std::string_view stat);

}  // namespace beamdump::sampler
