#include "stacks/running.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace beamdump::sampler {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenTries{2};
constexpr std::chrono::milliseconds kForSample{10};
/// A few samples' stacks fit into the ring, which is read every kBetweenTries.
constexpr EventTerms kEvents{.period = 1'000'000, .stack_bytes = 32768, .ring_pages = 32};

}  // namespace

Result<RunningStacks> RunningStacks::open(ObservedNode& node, ProcessStacks& stacks) {
    RunningStacks running(node, stacks);
    ASSIGN_OR_RETURN(auto reader, beam::SchedulerReader::open(node.vm()));
    ASSIGN_OR_RETURN(const auto read, reader.read());
    ASSIGN_OR_RETURN(const auto threads, threads_of_schedulers(node.vm().target().pid()));
    running.processes_ = read.processes;
    for (const auto& from : read.schedulers.scheduler()) {
        SchedulerStack scheduler{.kind = from.kind(), .number = from.number()};
        if (from.has_current_owner_id()) {
            scheduler.owner_id = from.current_owner_id();
        }
        if (from.has_current_port_number()) {
            scheduler.port_number = from.current_port_number();
        }
        const auto thread = threads.find({from.kind(), from.number()});
        if (thread != threads.end()) {
            scheduler.thread = thread->second;
        }
        running.schedulers_.push_back(std::move(scheduler));
        running.structures_.push_back(from.struct_address());
    }
    running.native_.resize(running.schedulers_.size());
    running.images_.resize(running.schedulers_.size());
    return running;
}

/// Only of schedulers with a process: the others have nothing to sample. None of the interpreter,
/// whose registers do not show a process's stack.
void RunningStacks::open_events(StacksReport& report) {
    if (!node_->vm().facts().jit) {
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
        images_[index] = native_[index] ? std::optional(ThreadImage::of(sample)) : std::nullopt;
        auto found = stacks_->sampled(sample);
        if (found) {
            take(index, std::move(*found), report);
        } else {
            outcome = std::unexpected(found.error());
        }
    });
    return outcome ? read : outcome;
}

/// What a thread does now: where it waits, or its next sample. Nothing if neither is to be had.
std::optional<ThreadImage> RunningStacks::image_of(std::size_t index) {
    auto& target = node_->vm().target();
    const auto thread = *schedulers_[index].thread;
    const auto before = thread_rest(target.pid(), thread);
    if (before && before->sleeps) {
        auto image = ThreadImage::waiting(target.pid(), thread, target.memory());
        const auto after = thread_rest(target.pid(), thread);
        return image && after && before->rested_until(*after) ? std::move(*image) : std::nullopt;
    }
    const auto event = events_.find(index);
    std::optional<ThreadImage> image;
    const auto drop = [](const Sample& /*older*/) {};
    if (event == events_.end() || !event->second.read(drop)) {
        return image;
    }
    for (const auto end = Clock::now() + kForSample; !image && Clock::now() < end;) {
        std::this_thread::sleep_for(kBetweenTries);
        if (!event->second.read([&](const Sample& sample) { image = ThreadImage::of(sample); })) {
            break;
        }
    }
    return image;
}

/// A dirty scheduler runs native code alone: the process has its stack in its structure. What the
/// thread does is of that stack's call if the process was the scheduler's before and after, and did
/// not change.
Result<void> RunningStacks::dirty(std::size_t index, const beam::IdSlot& slot,
                                  StacksReport& report) {
    ASSIGN_OR_RETURN(auto rest, stacks_->at_rest(slot, false));
    const auto has_it = [&] {
        const auto now = stacks_->current_process(structures_[index]);
        return now && *now == slot.address;
    };
    if (rest.stack && schedulers_[index].thread && has_it()) {
        auto image = image_of(index);
        ASSIGN_OR_RETURN(const auto unchanged, stacks_->is_as_read(slot));
        if (unchanged && has_it()) {
            schedulers_[index].image = std::move(image);
        }
    }
    take(index, std::move(rest), report);
    return {};
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
    if (scheduler.kind != records::SCHEDULER_KIND_NORMAL) {
        return dirty(index, *slot, report);
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
        if (sleeps) {
            auto waiting =
                ThreadImage::waiting(pid, *scheduler.thread, node_->vm().target().memory());
            images_[index] = waiting ? std::move(*waiting) : std::nullopt;
        }
        ASSIGN_OR_RETURN(rest, stacks_->native(*slot, structures_[index], native_[index],
                                               sleeps ? std::function<bool()>(stands) : nullptr));
        const bool same =
            images_[index] && stacks_->is_in_call_of(structures_[index], images_[index]->sample());
        if (rest.stack && same) {
            schedulers_[index].image = std::move(images_[index]);
        }
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
