#include "stacks/stopped.h"

#include "stacks/native_calls.h"
#include "stacks/running.h"

#include <libdump/base/return_if_error.h>
#include <libvm/beam/tables/id_table.h>
#include <libvm/target/stop/timed_stop.h>

#include <algorithm>

namespace beamdump::sampler {
namespace {

/// How long schedulers in native code are let run on, a few microseconds at a time.
constexpr std::chrono::microseconds kSettling{1200};
constexpr std::uint32_t kSlotsOfAStop = 4096;
/// Of a running process's stack.
constexpr std::size_t kMostStackBytes = std::size_t{1} << 19U;

class StoppedNode {
  public:
    StoppedNode(ObservedNode& node, ProcessStacks& stacks, target::TimedStop& stop)
        : node_(node), stacks_(stacks), stop_(stop) {}

    /// What a scheduler has: from its thread's registers in Erlang code, or from its structure
    /// while the thread is in a system call.
    Result<void> scheduler(SchedulerStack& scheduler, Address structure, Address process) {
        const auto slot = stacks_.slot_of(process);
        if (!slot) {
            return {};
        }
        ASSIGN_OR_RETURN(auto found, stacks_.at_rest(*slot, true));
        const auto& all = stop_.registers();
        const auto at =
            std::ranges::find(all, scheduler.thread.value_or(0), &target::ThreadRegisters::thread);
        const bool is_dirty = scheduler.kind != records::SCHEDULER_KIND_NORMAL;
        bool native = is_dirty && found.stack && scheduler.thread;
        if (found.miss == StackMiss::kRunning && scheduler.thread && !is_dirty) {
            if (at != all.end() && node_.in_code(at->rip)) {
                ASSIGN_OR_RETURN(found, running(*at));
            } else if (node_.vm().facts().jit) {
                ASSIGN_OR_RETURN(
                    found, stacks_.native(*slot, structure, std::nullopt, [] { return true; }));
                native = found.stack.has_value();
            }
        }
        if (native && !stop_.expired()) {
            scheduler.image = image_of(*scheduler.thread, at == all.end() ? nullptr : &*at);
        }
        if (stop_.expired()) {
            return {};
        }
        if (found.stack) {
            found.stack->proof = StackProof::kStopped;
            scheduler.owner_id = found.stack->process.owner_id;
        } else {
            scheduler.miss = found.miss;
        }
        scheduler.stack = std::move(found.stack);
        return {};
    }

  private:
    /// `registers`: null of a thread in a system call. Nothing: it could not be read.
    std::optional<ThreadImage> image_of(pid_t thread, const target::ThreadRegisters* registers) {
        auto& target = node_.vm().target();
        if (registers == nullptr) {
            auto image = ThreadImage::waiting(target.pid(), thread, target.memory());
            return image ? std::move(*image) : std::nullopt;
        }
        auto image = ThreadImage::stopped(*registers, target.memory());
        return image ? std::optional(std::move(*image)) : std::nullopt;
    }

    Result<StackTry> running(const target::ThreadRegisters& thread) {
        Sample sample{.thread = thread.thread, .place = thread.rip};
        sample.registers.at(static_cast<std::size_t>(Register::kRsp)) = thread.rsp;
        sample.registers.at(static_cast<std::size_t>(Register::kR13)) = thread.r13;
        bytes_.resize(kMostStackBytes);
        const auto read = node_.vm().target().memory().read_some(thread.rsp, bytes_);
        sample.stack = std::span(bytes_).first(read.value_or(0));
        return stacks_.sampled(sample);
    }

    ObservedNode& node_;
    ProcessStacks& stacks_;
    target::TimedStop& stop_;
    std::vector<std::byte> bytes_;
};

struct Found {
    std::vector<SchedulerStack> schedulers{};
    std::vector<Address> structures{};  // of these
    std::vector<ProcessStack> processes{};
};

/// Everything that is read while the node stands.
Result<Found> read_stopped(ObservedNode& node, ProcessStacks& stacks, const StacksOptions& options,
                           target::TimedStop& stop, StacksReport& report) {
    node.vm().forget();
    ASSIGN_OR_RETURN(auto running, RunningStacks::open(node, stacks));
    StoppedNode stopped(node, stacks, stop);
    Found found{.schedulers = std::move(running.schedulers()), .structures = running.structures()};
    for (std::size_t index = 0; index < found.schedulers.size(); ++index) {
        if (found.schedulers[index].owner_id) {
            RETURN_IF_ERROR(stopped.scheduler(found.schedulers[index], running.structures()[index],
                                              running.processes()[index]));
        }
    }
    if (!options.all) {
        return found;
    }
    ASSIGN_OR_RETURN(auto table, beam::IdTable::processes(node.vm()));
    for (std::uint32_t first = 0; first < table.slots(); first += kSlotsOfAStop) {
        ASSIGN_OR_RETURN(const auto slots, table.used(first, kSlotsOfAStop));
        for (const auto& slot : slots) {
            if (stop.expired()) {
                ++report.not_read;
                continue;
            }
            ASSIGN_OR_RETURN(auto one, stacks.at_rest(slot, true));
            if (stop.expired()) {
                ++report.not_read;
            } else if (one.stack) {
                found.processes.push_back(std::move(*one.stack));
            } else if (one.miss == StackMiss::kRunning) {
                continue;  // among the schedulers
            } else if (one.miss != StackMiss::kExiting) {
                ++report.missed[one.miss];
            }
        }
    }
    return found;
}

Result<void> tell(const Found& found, const StacksOptions& options, const StacksListener& listener,
                  StacksReport& report) {
    for (const auto& scheduler : found.schedulers) {
        const bool held = scheduler.stack.has_value();
        report.shown += held && !options.all ? 1 : 0;
        if (scheduler.owner_id && !held && scheduler.miss != StackMiss::kExiting) {
            if (scheduler.miss) {
                ++report.missed[*scheduler.miss];
            } else {
                ++report.not_read;
            }
        }
        RETURN_IF_ERROR(listener.scheduler(scheduler));
    }
    if (!options.all) {
        return {};
    }
    // Of a process that ran on a scheduler the registers told.
    for (const auto& scheduler : found.schedulers) {
        const auto listed = [&](const ProcessStack& process) {
            return process.process.owner_id == scheduler.stack->process.owner_id;
        };
        if (scheduler.stack && std::ranges::none_of(found.processes, listed)) {
            ++report.shown;
            RETURN_IF_ERROR(listener.process(*scheduler.stack));
        }
    }
    for (const auto& process : found.processes) {
        ++report.shown;
        RETURN_IF_ERROR(listener.process(process));
    }
    return {};
}

}  // namespace

Result<void> read_in_a_stop(ObservedNode& node, ProcessStacks& stacks, const StacksOptions& options,
                            target::StopTracker& stops, const std::atomic<bool>& cancelled,
                            const StacksListener& listener, StacksReport& report) {
    target::TimedStopTerms terms{.longest = options.max_pause};
    if (node.vm().facts().jit) {
        terms.settling = target::Settling{
            .certain =
                [&node](const target::ThreadRegisters& thread) { return node.in_code(thread.rip); },
            .longest = kSettling};
    }
    terms.cut_short = [&cancelled] { return cancelled.load(); };
    terms.stops = &stops;
    ASSIGN_OR_RETURN(auto stop,
                     target::TimedStop::begin_repeatedly(node.vm().target().pid(), terms));
    auto found = read_stopped(node, stacks, options, stop, report);
    report.stopped_ns = stop.end().length_ns;
    if (!found) {
        return std::unexpected(found.error());
    }
    name_native_frames(node, stacks, found->structures, found->schedulers, report);
    return tell(*found, options, listener, report);
}

}  // namespace beamdump::sampler
