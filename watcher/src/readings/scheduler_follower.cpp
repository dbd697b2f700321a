#include "readings/scheduler_follower.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/owner_id.h>
#include <libsample/counts/node_load.h>
#include <libsample/events/threads.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/target/process/clock.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::watch {

void SchedulerFollower::follow(Time now, const SchedulersSeen& seen, Measurements& into) {
    const auto seconds = [](Time time) { return std::chrono::duration<double>(time).count(); };
    // An idle node makes no progress either: the time begins when a process is seen ready.
    const bool progress = !reductions_ || *reductions_ != seen.reductions;
    reductions_ = seen.reductions;
    if (progress || seen.ready == 0) {
        stalled_since_.reset();
    }
    if (seen.ready > 0 && !stalled_since_) {
        stalled_since_ = now;
    }
    into[Quantity::kStalled] = {.value = stalled_since_ ? seconds(now - *stalled_since_) : 0};

    auto before = std::exchange(held_, {});
    Measured longest;
    for (const auto& [number, running] : seen.running) {
        const auto then = before.find(number);
        const bool same = then != before.end() && then->second.running == running;
        const auto since = same ? then->second.since : now;
        held_[number] = {running, since};
        if (now > since && seconds(now - since) > longest.value) {
            longest = {.value = seconds(now - since), .owner = pid_text(running.owner_id)};
        }
    }
    into[Quantity::kHeld] = std::move(longest);
}

void SchedulerFollower::read_time(pid_t pid, target::KeptFiles& files, Measurements& into) {
    if (time_files_.empty()) {
        const auto threads = sampler::threads_of_schedulers(pid);
        if (!threads) {
            return;
        }
        for (const auto& [scheduler, thread] : *threads) {
            if (scheduler.first == records::SCHEDULER_KIND_NORMAL && scheduler.second != 0) {
                time_files_.push_back(fmt::format("/proc/{}/task/{}/schedstat", pid, thread));
            }
        }
    }
    Spent now{.at_ns = target::clock_ns(CLOCK_MONOTONIC)};
    for (const auto& file : time_files_) {
        const auto spent = sampler::processor_ns(files.read(file).value_or(""));
        if (!spent) {
            spent_.reset();
            return;
        }
        now.processor_ns += *spent;
    }
    const auto before = std::exchange(spent_, now);
    if (before && now.at_ns > before->at_ns && now.processor_ns >= before->processor_ns &&
        !time_files_.empty()) {
        const auto could = static_cast<double>(now.at_ns - before->at_ns) *
                           static_cast<double>(time_files_.size());
        const auto spent = static_cast<double>(now.processor_ns - before->processor_ns);
        into[Quantity::kSchedulerTime] = {.value = std::min(100 * spent / could, 100.0)};
    }
}

Result<SchedulersSeen> read_schedulers(beam::Vm& vm) {
    ASSIGN_OR_RETURN(auto reader, beam::SchedulerReader::open(vm));
    beam::LayoutNames names(vm.layout());
    const auto reductions = names.field(beam::runtime::Process::reds);
    RETURN_IF_ERROR(names.outcome());
    SchedulersSeen seen;
    ASSIGN_OR_RETURN(seen.reductions, reader.reductions());
    ASSIGN_OR_RETURN(const auto read, reader.read());
    for (const auto& queue : read.schedulers.run_queue()) {
        if (queue.kind() == records::SCHEDULER_KIND_NORMAL) {
            seen.ready += queue.length();
        }
    }
    for (int at = 0; at < read.schedulers.scheduler_size(); ++at) {
        const auto& scheduler = read.schedulers.scheduler(at);
        if (scheduler.kind() != records::SCHEDULER_KIND_NORMAL ||
            !scheduler.has_current_owner_id()) {
            continue;
        }
        const auto done =
            vm.bulk().word(read.processes[static_cast<std::size_t>(at)] + reductions.offset);
        if (done) {
            seen.running[scheduler.number()] = {scheduler.current_owner_id(), *done};
        } else if (done.error().code == ErrorCode::kTargetDied) {
            return std::unexpected(done.error());
        }
    }
    return seen;
}

}  // namespace beamdump::watch
