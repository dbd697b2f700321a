#include "stacks/collect.h"

#include "stacks/running.h"

#include <libdump/base/return_if_error.h>
#include <libdump/profile/samples.h>
#include <libvm/arch/known_code.h>
#include <libvm/beam/native/native_calls.h>
#include <libvm/beam/processes/yield_state.h>
#include <libvm/beam/tables/id_table.h>
#include <libvm/target/process/clock.h>
#include <libvm/target/stop/timed_stop.h>
#include <libvm/target/unwind/native_frames.h>

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <thread>

namespace beamdump::sampler {
namespace {

void name_frames(ObservedNode& node, ProcessStacks& stacks, target::NativeFrames& native,
                 Address structure, SchedulerStack& scheduler) {
    const auto sample = scheduler.image->sample();
    const auto found =
        native.unwind(stack_of(sample), [&node](Address address) { return node.in_code(address); });
    const bool normal = scheduler.kind == records::SCHEDULER_KIND_NORMAL;
    if (normal && found.leads_to && found.leads_to != stacks.native_return(structure, sample)) {
        return;
    }
    if (sample.in_kernel) {
        scheduler.native_frames.emplace_back(kInKernel);
    }
    for (const auto place : found.places) {
        scheduler.native_frames.push_back(
            native.name_at(place).value_or(std::string(kOutsideFiles)));
    }
    scheduler.more_native = !found.whole || (normal && !found.leads_to);
}

/// Fills in the native frames of schedulers that have an image. `structures`: theirs, in the same
/// order. Frames that lead to another place in Erlang code than the call returns to were not
/// unwound rightly, and are left out. What is not to be had is a remark of the report.
void name_native_frames(ObservedNode& node, ProcessStacks& stacks,
                        std::span<const Address> structures, std::span<SchedulerStack> schedulers,
                        StacksReport& report) {
    const auto has_image = [](const SchedulerStack& scheduler) {
        return scheduler.image && scheduler.stack;
    };
    if (std::ranges::none_of(schedulers, has_image)) {
        return;
    }
    auto native = target::NativeFrames::open(node.vm().target());
    if (!native) {
        report.remarks.push_back(
            fmt::format("native frames are not shown: {}", native.error().message));
        return;
    }
    for (std::size_t index = 0; index < schedulers.size(); ++index) {
        if (has_image(schedulers[index])) {
            name_frames(node, stacks, *native, structures[index], schedulers[index]);
        }
    }
}

/// How long schedulers in native code are let run on, a few microseconds at a time.
constexpr std::chrono::microseconds kSettling{1200};
/// Where places that are known are waited for: a part of the stop, if that is longer.
constexpr int kPartForSettling = 8;
constexpr std::uint32_t kSlotsOfAStop = 4096;
/// The most that is read of a running process's stack.
constexpr std::size_t kMostBytesOfAStack = std::size_t{1} << 19U;

/// Processes that run, in a stop, by the places at which their state is known (beam::YieldState,
/// beam::NativeCalls): for an architecture on which registers elsewhere do not tell their stacks.
class StandingProcesses {
  public:
    static Result<StandingProcesses> open(ObservedNode& node) {
        auto& vm = node.vm();
        ASSIGN_OR_RETURN(auto states, beam::YieldState::open(vm.layout()));
        ASSIGN_OR_RETURN(auto calls, beam::NativeCalls::open(vm, node.shared().fragments()));
        calls.prepare();
        return StandingProcesses(vm.target().memory(), std::move(states), std::move(calls));
    }

    /// Whether the state of what a thread runs is known there; in a stop.
    bool knows(const target::ThreadRegisters& thread) {
        return states_.at_yield_point(thread, *memory_) || calls_.stays_in_call(thread);
    }

    /// The states of what these threads run, as long as they stand.
    const beam::YieldState& states(std::span<const target::ThreadRegisters> threads) {
        states_.record(threads, *memory_);
        for (const auto& [process, state] : calls_.states(threads)) {
            states_.know(process, state);
        }
        return states_;
    }

  private:
    StandingProcesses(memory::MemorySource& memory, beam::YieldState states,
                      beam::NativeCalls calls)
        : memory_(&memory), states_(std::move(states)), calls_(std::move(calls)) {}

    memory::MemorySource* memory_;
    beam::YieldState states_;
    beam::NativeCalls calls_;
};

class StoppedNode {
  public:
    /// `known`: states of processes that run; null: registers tell their stacks. Non-owning.
    StoppedNode(ObservedNode& node, ProcessStacks& stacks, target::TimedStop& stop,
                const beam::YieldState* known)
        : node_(node), stacks_(stacks), stop_(stop), known_(known) {}

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
            if (known_ != nullptr) {
                ASSIGN_OR_RETURN(found, stacks_.standing(*slot, *known_));
            } else if (at != all.end() && node_.in_code(at->instruction)) {
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
    /// `registers`: null where they are not known. Nothing: it could not be read.
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
        Sample sample{.thread = thread.thread, .place = thread.instruction};
        sample.registers.at(static_cast<std::size_t>(Register::kStackPointer)) =
            thread.stack_pointer;
        sample.registers.at(static_cast<std::size_t>(Register::kProcess)) = thread.jit.process;
        bytes_.resize(kMostBytesOfAStack);
        const auto read = node_.vm().target().memory().read_some(thread.stack_pointer, bytes_);
        sample.stack = std::span(bytes_).first(read.value_or(0));
        return stacks_.sampled(sample);
    }

    ObservedNode& node_;
    ProcessStacks& stacks_;
    target::TimedStop& stop_;
    const beam::YieldState* known_;
    std::vector<std::byte> bytes_;
};

struct Found {
    std::vector<SchedulerStack> schedulers{};
    std::vector<Address> structures{};  // of these
    std::vector<ProcessStack> processes{};
};

/// Everything that is read while the node stands.
Result<Found> read_stopped(ObservedNode& node, ProcessStacks& stacks, const StacksOptions& options,
                           target::TimedStop& stop, const beam::YieldState* known,
                           StacksReport& report) {
    node.vm().forget();
    ASSIGN_OR_RETURN(auto running, RunningStacks::open(node, stacks));
    StoppedNode stopped(node, stacks, stop, known);
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
    // The registers told of a process that ran on a scheduler.
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

/// collect_stacks() in one stop of all threads of the node, of at most options.max_pause. What does
/// not fit into it is counted, not read. Memory: the stacks that were read.
Result<void> read_in_a_stop(ObservedNode& node, ProcessStacks& stacks, const StacksOptions& options,
                            target::StopTracker& stops, const std::atomic<bool>& cancelled,
                            const StacksListener& listener, StacksReport& report) {
    target::TimedStopTerms terms{.longest = options.max_pause};
    std::optional<StandingProcesses> standing;
    if (!arch::knows_code(node.vm().layout().architecture())) {
        ASSIGN_OR_RETURN(standing, StandingProcesses::open(node));
    }
    if (node.vm().facts().jit) {
        const auto certain = [&](const target::ThreadRegisters& thread) {
            return standing ? standing->knows(thread) : node.in_code(thread.instruction);
        };
        terms.settling = target::Settling{.certain = certain, .longest = kSettling};
        if (standing) {
            // Such places are fewer.
            terms.settling->longest = std::max<std::chrono::nanoseconds>(
                kSettling, std::chrono::nanoseconds(options.max_pause) / kPartForSettling);
        }
    }
    terms.cut_short = [&cancelled] { return cancelled.load(); };
    terms.stops = &stops;
    ASSIGN_OR_RETURN(auto stop,
                     target::TimedStop::begin_repeatedly(node.vm().target().pid(), terms));
    const auto* const known = standing ? &standing->states(stop.registers()) : nullptr;
    auto found = read_stopped(node, stacks, options, stop, known, report);
    report.stopped_ns = stop.end().length_ns;
    if (!found) {
        return std::unexpected(found.error());
    }
    name_native_frames(node, stacks, found->structures, found->schedulers, report);
    return tell(*found, options, listener, report);
}

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
