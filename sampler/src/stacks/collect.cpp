#include "stacks/collect.h"

#include "stacks/native_calls.h"
#include "stacks/running.h"
#include "stacks/stopped.h"

#include <libdump/base/return_if_error.h>
#include <libvm/beam/tables/id_table.h>
#include <libvm/target/process/clock.h>

#include <algorithm>
#include <thread>

namespace beamdump::sampler {
namespace {

constexpr std::uint32_t kSlotsOfABatch = 65536;
constexpr std::chrono::milliseconds kFirstWait{1};
constexpr std::chrono::milliseconds kLongestWait{50};

Error cancelled_error() {
    return {ErrorCode::kIo, "cancelled"};
}

/// Stacks of all processes of a node that runs.
class LiveProcesses {
  public:
    LiveProcesses(ObservedNode& node, ProcessStacks& stacks, const std::atomic<bool>& cancelled,
                  const StacksListener& listener, StacksReport& report)
        : node_(node),
          stacks_(stacks),
          cancelled_(cancelled),
          listener_(listener),
          report_(report) {}

    /// `run`: stacks of the schedulers' processes, for those that never pause.
    Result<void> read(std::chrono::milliseconds patience, const std::vector<SchedulerStack>& run) {
        ASSIGN_OR_RETURN(auto table, beam::IdTable::processes(node_.vm()));
        for (std::uint32_t first = 0; first < table.slots(); first += kSlotsOfABatch) {
            ASSIGN_OR_RETURN(const auto slots, table.used(first, kSlotsOfABatch));
            for (const auto& slot : slots) {
                RETURN_IF_ERROR(attempt(slot));
            }
        }
        RETURN_IF_ERROR(take_running(run));
        const auto end = std::chrono::steady_clock::now() + patience;
        for (auto wait = kFirstWait; !pending_.empty(); wait = std::min(2 * wait, kLongestWait)) {
            if (std::chrono::steady_clock::now() >= end) {
                break;
            }
            std::this_thread::sleep_for(wait);
            report_.repeated += pending_.size();
            auto again = std::move(pending_);
            pending_.clear();
            for (const auto& [slot, miss] : again) {
                RETURN_IF_ERROR(attempt(slot));
            }
        }
        for (const auto& [slot, miss] : pending_) {
            ++report_.missed[miss];
        }
        return {};
    }

  private:
    struct Pending {
        beam::IdSlot slot;
        StackMiss miss;
    };

    Result<void> attempt(const beam::IdSlot& slot) {
        if (cancelled_) {
            return std::unexpected(cancelled_error());
        }
        ASSIGN_OR_RETURN(const auto found, stacks_.at_rest(slot, false));
        if (found.stack) {
            ++report_.shown;
            return listener_.process(*found.stack);
        }
        if (found.miss != StackMiss::kExiting) {
            pending_.push_back({slot, found.miss});
        }
        return {};
    }

    /// Processes that run have the stacks that were just read of their schedulers.
    Result<void> take_running(const std::vector<SchedulerStack>& run) {
        std::vector<Pending> left;
        for (const auto& pending : pending_) {
            const auto owner = stacks_.owner_of(pending.slot.address);
            const auto ran = std::ranges::find_if(run, [&](const SchedulerStack& scheduler) {
                return scheduler.stack && owner == scheduler.stack->process.owner_id;
            });
            if (ran == run.end()) {
                left.push_back(pending);
                continue;
            }
            ++report_.shown;
            RETURN_IF_ERROR(listener_.process(*ran->stack));
        }
        pending_ = std::move(left);
        return {};
    }

    ObservedNode& node_;
    ProcessStacks& stacks_;
    const std::atomic<bool>& cancelled_;
    const StacksListener& listener_;
    StacksReport& report_;
    std::vector<Pending> pending_;
};

Result<void> tell_schedulers(const std::vector<SchedulerStack>& schedulers, bool count,
                             const StacksListener& listener, StacksReport& report) {
    for (const auto& scheduler : schedulers) {
        if (count && scheduler.stack) {
            ++report.shown;
        }
        // With all processes, each is counted among these.
        if (count && scheduler.miss && *scheduler.miss != StackMiss::kExiting) {
            ++report.missed[*scheduler.miss];
        }
        RETURN_IF_ERROR(listener.scheduler(scheduler));
    }
    return {};
}

}  // namespace

Result<StacksReport> collect_stacks(ObservedNode& node, const StacksOptions& options,
                                    target::StopTracker& stops, const std::atomic<bool>& cancelled,
                                    const StacksListener& listener) {
    const auto began = target::clock_ns(CLOCK_MONOTONIC);
    StacksReport report{.node = node.name(),
                        .otp_release = node.vm().facts().otp_release,
                        .pid = node.vm().target().pid(),
                        .read_us = target::clock_ns(CLOCK_REALTIME) / 1000};
    if (node.doubt()) {
        report.remarks.push_back(*node.doubt());
    }
    if (!node.vm().facts().jit) {
        report.remarks.emplace_back(
            "the emulator is the interpreter, which keeps the stack of a process that runs in its "
            "own variables: such stacks are not shown");
    }
    ASSIGN_OR_RETURN(auto stacks, ProcessStacks::open(node, options.frames));
    if (options.stop) {
        RETURN_IF_ERROR(read_in_a_stop(node, stacks, options, stops, cancelled, listener, report));
    } else {
        ASSIGN_OR_RETURN(auto running, RunningStacks::open(node, stacks));
        RETURN_IF_ERROR(running.read(options.patience, cancelled, report));
        name_native_frames(node, stacks, running.structures(), running.schedulers(), report);
        RETURN_IF_ERROR(tell_schedulers(running.schedulers(), !options.all, listener, report));
        if (options.all) {
            LiveProcesses processes(node, stacks, cancelled, listener, report);
            RETURN_IF_ERROR(processes.read(options.patience, running.schedulers()));
        }
    }
    report.took_ns = target::clock_ns(CLOCK_MONOTONIC) - began;
    return report;
}

}  // namespace beamdump::sampler
