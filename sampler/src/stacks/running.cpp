#include "stacks/running.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace beamdump::sampler {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenTries{2};
/// A few samples' stacks fit into the ring, which is read every kBetweenTries.
constexpr EventTerms kEvents{.period = 1'000'000, .stack_bytes = 32768, .ring_pages = 32};

}  // namespace

Result<RunningStacks> RunningStacks::open(ObservedNode& node, ProcessStacks& stacks) {
    RunningStacks running(node, stacks);
    ASSIGN_OR_RETURN(auto reader, beam::SchedulerReader::open(node.vm()));
    ASSIGN_OR_RETURN(const auto read, reader.read());
    std::map<std::uint32_t, pid_t> threads;
    ASSIGN_OR_RETURN(const auto found, threads_of_node(node.vm().target().pid()));
    for (const auto& thread : found) {
        if (const auto number = scheduler_number(thread.name)) {
            threads.emplace(*number, thread.id);
        }
    }
    running.processes_ = read.processes;
    for (const auto& from : read.schedulers.scheduler()) {
        SchedulerStack scheduler{.kind = from.kind(), .number = from.number()};
        if (from.has_current_owner_id()) {
            scheduler.owner_id = from.current_owner_id();
        }
        if (from.has_current_port_number()) {
            scheduler.port_number = from.current_port_number();
        }
        const auto thread = threads.find(from.number());
        if (from.kind() == records::SCHEDULER_KIND_NORMAL && thread != threads.end()) {
            scheduler.thread = thread->second;
        }
        running.schedulers_.push_back(std::move(scheduler));
        running.structures_.push_back(from.struct_address());
    }
    running.native_.resize(running.schedulers_.size());
    return running;
}

/// Only of schedulers with a process: the others have nothing to sample.
void RunningStacks::open_events(StacksReport& report) {
    if (!node_->vm().facts().jit) {
        report.remarks.emplace_back(
            "the emulator is the interpreter, which keeps the stack of a process that runs in its "
            "own variables: such stacks are not shown");
        return;
    }
    for (std::size_t index = 0; index < schedulers_.size(); ++index) {
        const auto& scheduler = schedulers_[index];
        if (!scheduler.owner_id || !scheduler.thread) {
            continue;
        }
        auto event = ThreadEvent::open(*scheduler.thread, kEvents);
        if (!event) {
            report.remarks.push_back(
                fmt::format("{}: stacks of processes that run are shown only when they pause",
                            event.error().message));
            return;
        }
        events_.emplace(index, std::move(*event));
    }
}

void RunningStacks::take(std::size_t index, StackTry found, StacksReport& report) {
    auto& scheduler = schedulers_[index];
    if (found.stack) {
        scheduler.stack = std::move(found.stack);
        scheduler.owner_id = scheduler.stack->process.owner_id;
        scheduler.miss.reset();
    } else {
        scheduler.miss = found.miss;
        ++report.repeated;
    }
}

/// The first sample in Erlang code; it may be of another process than the scheduler had before.
Result<void> RunningStacks::sample(std::size_t index, StacksReport& report) {
    const auto event = events_.find(index);
    if (event == events_.end()) {
        return {};
    }
    Result<void> outcome;
    auto read = event->second.read([&](const Sample& sample) {
        if (schedulers_[index].stack || !outcome) {
            return;
        }
        native_[index] = stacks_->native_return(structures_[index], sample);
        auto found = stacks_->sampled(sample);
        if (found) {
            take(index, std::move(*found), report);
        } else {
            outcome = std::unexpected(found.error());
        }
    });
    return outcome ? read : outcome;
}

Result<void> RunningStacks::attempt(std::size_t index, StacksReport& report) {
    RETURN_IF_ERROR(sample(index, report));
    const auto& scheduler = schedulers_[index];
    if (scheduler.stack) {
        return {};
    }
    const auto slot = stacks_->slot_of(processes_[index]);
    if (!slot) {
        take(index, {.miss = StackMiss::kExiting}, report);
        return {};
    }
    ASSIGN_OR_RETURN(auto rest, stacks_->at_rest(*slot, false));
    const bool runs = rest.miss == StackMiss::kRunning && scheduler.thread;
    if (!runs) {
        take(index, std::move(rest), report);
        return {};
    }
    const auto pid = node_->vm().target().pid();
    const auto before = thread_rest(pid, *scheduler.thread);
    const auto stands = [&] {
        const auto after = thread_rest(pid, *scheduler.thread);
        return after && before->rested_until(*after);
    };
    const bool sleeps = before && before->sleeps;
    if (node_->vm().facts().jit && (sleeps || native_[index])) {
        ASSIGN_OR_RETURN(rest, stacks_->native(*slot, structures_[index], native_[index],
                                               sleeps ? std::function<bool()>(stands) : nullptr));
    }
    take(index, std::move(rest), report);
    return {};
}

Result<void> RunningStacks::read(std::chrono::milliseconds patience,
                                 const std::atomic<bool>& cancelled, StacksReport& report) {
    open_events(report);
    const auto end = Clock::now() + patience;
    while (true) {
        bool left = false;
        for (std::size_t index = 0; index < schedulers_.size(); ++index) {
            if (schedulers_[index].owner_id && !schedulers_[index].stack) {
                RETURN_IF_ERROR(attempt(index, report));
                left = left || !schedulers_[index].stack;
            }
        }
        if (!left || Clock::now() >= end) {
            break;
        }
        if (cancelled) {
            return fail(ErrorCode::kIo, "cancelled");
        }
        std::this_thread::sleep_for(kBetweenTries);
    }
    events_.clear();
    return {};
}

}  // namespace beamdump::sampler
