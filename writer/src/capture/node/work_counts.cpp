#include "capture/node/work_counts.h"

#include <libvm/beam/activity/schedulers.h>
#include <libvm/beam/tables/id_table.h>
#include <libvm/target/process/clock.h>

#include <ctime>

namespace beamdump::capture {
namespace {

std::optional<std::uint64_t> processor_ns(pid_t pid) {
    clockid_t clock{};
    timespec time{};
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
}

/// nullopt where one is absent, or the count went back.
template <typename Count>
std::optional<Count> since(const std::optional<Count>& begin, const std::optional<Count>& end) {
    return begin && end && *end >= *begin ? std::optional(*end - *begin) : std::nullopt;
}

}  // namespace

WorkCounts work_counts(beam::Vm& vm) {
    vm.forget();
    WorkCounts counts;
    counts.monotonic_ns = target::clock_ns(CLOCK_MONOTONIC);
    if (const auto table = beam::IdTable::processes(vm)) {
        counts.processes = table->made();
    }
    if (auto schedulers = beam::SchedulerReader::open(vm)) {
        if (const auto reductions = schedulers->reductions()) {
            counts.reductions = *reductions;
        }
    }
    counts.processor_ns = processor_ns(vm.target().pid());
    return counts;
}

std::optional<records::Meanwhile> work_between(const WorkCounts& begin, const WorkCounts& end,
                                               std::chrono::nanoseconds stopped) {
    const auto ran = end.monotonic_ns - begin.monotonic_ns - stopped.count();
    if (ran <= 0) {
        return std::nullopt;
    }
    records::Meanwhile meanwhile;
    meanwhile.set_ran_ns(static_cast<std::uint64_t>(ran));
    if (begin.processes && end.processes) {
        meanwhile.set_processes_started(*end.processes - *begin.processes);  // modulo 2^32
    }
    if (const auto reductions = since(begin.reductions, end.reductions)) {
        meanwhile.set_reductions(*reductions);
    }
    if (const auto processor = since(begin.processor_ns, end.processor_ns)) {
        meanwhile.set_processor_ns(*processor);
    }
    return meanwhile;
}

}  // namespace beamdump::capture
