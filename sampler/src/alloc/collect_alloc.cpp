#include "alloc/collect_alloc.h"

#include "alloc/collection_events.h"

#include <libdump/base/page_size.h>
#include <libdump/base/return_if_error.h>
#include <libsample/native/thread_image.h>
#include <libsample/profile/node_events.h>
#include <libsample/profile/sample_stacks.h>
#include <libvm/target/process/clock.h>

#include <algorithm>
#include <bit>
#include <random>
#include <thread>

namespace beamdump::sampler {
namespace {

using Clock = std::chrono::steady_clock;

/// Twelve parts in a thousand of the time are sampled: a sample costs the thread up to some 10
/// microseconds in a virtual machine, half of its time meanwhile.
constexpr std::int64_t kBurstsPerCycle = 1000 / 12;
/// The samples of a thread that runs all the time: as many as a ring has room for.
constexpr std::uint64_t kBurstSamples = 90;
constexpr std::chrono::nanoseconds kLongestBurst = std::chrono::milliseconds(3);
constexpr std::chrono::milliseconds kBetweenReads{1};
/// What is copied of a stack, at first: from most native code as far as the code that called it.
constexpr std::uint32_t kTopBytes = 4096;
constexpr std::uint32_t kStackBytes = 8192;
/// More is copied if the caller of more than one sample in so many is not in what is copied.
constexpr std::uint64_t kTooShort = 50;
constexpr std::uint64_t kEnoughSamples = 200;
constexpr std::uint32_t kMostCopiedBytes = 32768;
constexpr std::size_t kTopFrames = 2;
constexpr std::size_t kRingSamples = 128;
constexpr std::size_t kMostRingPages = 512;
/// The bytes of a sample in the ring, without the stack.
constexpr std::size_t kHeadBytes = 512;
constexpr std::uint64_t kNanoseconds = 1'000'000'000;

std::size_t ring_pages(std::uint32_t stack_bytes) {
    return std::min(std::bit_floor(kRingSamples * stack_bytes / page_bytes()), kMostRingPages);
}

/// The processor time of a node's normal schedulers, as it is sampled in bursts. What dirty ones
/// run is native code, whose heap tops are in no register.
Result<NodeEvents> clock_events(const AllocReport& report, std::uint32_t stack_bytes) {
    return NodeEvents::open(report.pid, {.period = kNanoseconds / report.rate,
                                         .schedulers_only = true,
                                         .off = true,
                                         .wakes = false,
                                         .scheduler_stack_bytes = stack_bytes,
                                         .ring_pages = ring_pages(stack_bytes)});
}

std::chrono::nanoseconds burst_length(std::uint64_t rate, std::uint32_t stack_bytes) {
    const auto samples = std::min<std::uint64_t>(
        kBurstSamples, ring_pages(stack_bytes) * page_bytes() / (stack_bytes + kHeadBytes));
    return std::min(kLongestBurst, std::chrono::nanoseconds(samples * kNanoseconds / rate));
}

/// Whether a sample is of a collection: by the fragment that began it, by the emulator's names, or
/// since its BIF has returned.
bool collects(const SampleStack& shown) {
    return shown.after_bif || std::ranges::any_of(shown.native, [](const std::string& name) {
               return name.contains("garbage_collect");
           });
}

class Bursts {
  public:
    Bursts(ProcessStacks& processes, SampleStacks& stacks, std::uint32_t stack_bytes,
           CollectionEvents collections, const std::atomic<bool>& cancelled, AllocReport& report)
        : processes_(processes),
          stacks_(stacks),
          stack_bytes_(stack_bytes),
          collections_(std::move(collections)),
          cancelled_(cancelled),
          report_(report) {}

    Result<void> run(Clock::time_point end) {
        std::minstd_rand random(std::random_device{}());
        RETURN_IF_ERROR(open_clock());
        while (Clock::now() < end && !cancelled_) {
            // Bursts at equal distances could fall into step with what the node does.
            std::uniform_int_distribution<std::int64_t> gap(
                0, 2 * (kBurstsPerCycle - 1) * length_.count());
            RETURN_IF_ERROR(burst());
            RETURN_IF_ERROR(copy_more());
            if (!tops_.has_room()) {
                report_.cut_short = true;
                report_.remarks.emplace_back("there are more samples than are kept: it ends early");
                break;
            }
            std::this_thread::sleep_until(
                std::min(end, Clock::now() + std::chrono::nanoseconds(gap(random))));
        }
        report_.allocation = tops_.estimate();
        report_.lost = lost_ + clock_->lost() + collections_.lost();
        report_.not_sampled = clock_->not_sampled();
        return {};
    }

  private:
    Result<void> open_clock() {
        ASSIGN_OR_RETURN(clock_, clock_events(report_, stack_bytes_));
        length_ = burst_length(report_.rate, stack_bytes_);
        return {};
    }

    /// From now on copies more of each stack, if the callers of too many samples were not in it.
    Result<void> copy_more() {
        if (counted_ < kEnoughSamples || too_short_ * kTooShort < counted_) {
            return {};
        }
        stack_bytes_ =
            std::min(kMostCopiedBytes, std::bit_ceil(static_cast<std::uint32_t>(longest_wanted_)));
        counted_ = too_short_ = 0;
        lost_ += clock_->lost();
        // Before the new rings have their memory.
        clock_.reset();
        return open_clock();
    }

    Result<void> burst() {
        points_.clear();
        RETURN_IF_ERROR(clock_->refresh());
        RETURN_IF_ERROR(collections_.refresh());
        RETURN_IF_ERROR(collections_.switch_on());
        end_ = Clock::now() + length_;
        // On a machine whose processors are all busy this thread can be late by milliseconds: the
        // kernel ends the burst.
        RETURN_IF_ERROR(clock_->switch_on_for(
            static_cast<std::uint64_t>(length_.count()) * report_.rate / kNanoseconds + 1));
        while (Clock::now() < end_) {
            std::this_thread::sleep_until(std::min(end_, Clock::now() + kBetweenReads));
            RETURN_IF_ERROR(take());
        }
        RETURN_IF_ERROR(clock_->switch_off());
        RETURN_IF_ERROR(collections_.switch_off());
        report_.sampled_ns += length_.count();
        RETURN_IF_ERROR(take());
        ++report_.bursts;
        tops_.add_burst(std::move(points_));
        return {};
    }

    Result<void> take() {
        Result<void> outcome;
        const auto visit = [&](bool collection) {
            return [this, &outcome, collection](const Sample& sample, const std::string&) {
                if (outcome) {
                    outcome = add(sample, collection);
                }
            };
        };
        RETURN_IF_ERROR(clock_->read(visit(false)));
        RETURN_IF_ERROR(collections_.read(visit(true)));
        return outcome;
    }

    Result<void> add(const Sample& sample, bool collection) {
        // Those of a thread that did not run all the time, until it was switched off.
        if (sample.time_ns >= static_cast<std::uint64_t>(end_.time_since_epoch().count())) {
            return {};
        }
        ++report_.samples;
        ASSIGN_OR_RETURN(auto shown, stacks_.of(sample));
        ++counted_;
        if (shown.stack_wanted > stack_bytes_ && shown.stack_wanted <= kMostCopiedBytes) {
            ++too_short_;
            longest_wanted_ = std::max(longest_wanted_, shown.stack_wanted);
        }
        const bool held_up = !collection && collections_.holds_up(sample);
        report_.held_up += held_up ? 1 : 0;
        HeapPoint point{.time_ns = sample.time_ns,
                        .thread = sample.thread,
                        .process = shown.structure,
                        .pid = shown.process ? shown.process->owner_id : 0,
                        .collection = collection,
                        .collects = held_up || collects(shown),
                        .after_loss = sample.after_loss};
        if (!shown.frames.empty()) {
            point.function = std::move(shown.frames.front());
            // What was read afterwards may be another call's callers: up to a millisecond later.
            if (report_.by_stack && shown.kind == SampleKind::kExact) {
                point.callers.emplace(std::next(shown.frames.begin()), shown.frames.end());
                if (shown.more) {
                    point.callers->emplace_back(kFurtherCallers);
                }
            }
        }
        // In shared code the register may be older or newer than what it has done to the heap; at
        // the beginning of a collection it is not.
        const bool in_function = std::ranges::all_of(
            shown.native, [](const std::string& name) { return name == kInKernel; });
        if (stacks_.on_erlang_stack(sample) && (in_function || collection) &&
            !point.function.empty()) {
            point.heap_top = sample.at(Register::kHeapTop);
            point.stack_top = sample.at(Register::kStackPointer);
        } else if (!collection && !point.function.empty()) {
            point.heap_top = shown.call_top;
        }
        if (point.heap_top != 0) {
            take_bounds(point);
        }
        points_.push_back(std::move(point));
        return {};
    }

    /// Takes the bounds of the heap that the process has now: the sample's, if it has its top.
    void take_bounds(HeapPoint& point) {
        const auto bounds = processes_.bounds_of(point.process);
        if (bounds && point.heap_top >= bounds->heap && point.heap_top < bounds->hend) {
            point.heap = bounds->heap;
            point.heap_end = bounds->hend;
            point.stack_top = point.stack_top != 0 ? point.stack_top : bounds->hend;
        }
    }

    ProcessStacks& processes_;
    SampleStacks& stacks_;
    std::uint32_t stack_bytes_;
    std::optional<NodeEvents> clock_;
    CollectionEvents collections_;
    const std::atomic<bool>& cancelled_;
    AllocReport& report_;
    std::chrono::nanoseconds length_{};  // of a burst
    Clock::time_point end_;              // of this one
    std::vector<HeapPoint> points_;
    HeapTops tops_{kNanoseconds / report_.rate, collections_.all()};
    std::uint64_t lost_ = 0;  // by clocks before this one
    std::uint64_t counted_ = 0, too_short_ = 0, longest_wanted_ = 0;
};

}  // namespace

Result<AllocReport> collect_alloc(ObservedNode& node, const AllocOptions& options,
                                  const std::atomic<bool>& cancelled) {
    AllocReport report{.node = node.name(),
                       .otp_release = node.vm().facts().otp_release,
                       .pid = node.vm().target().pid(),
                       .rate = options.rate,
                       .by_stack = options.frames.has_value()};
    if (!node.vm().facts().jit) {
        return fail(ErrorCode::kUnsupported,
                    "the emulator is the interpreter, whose heap tops are not in a register");
    }
    RETURN_IF_ERROR(node.check_samples());
    if (node.doubt()) {
        report.remarks.push_back(*node.doubt());
    }
    const auto frames = options.frames.value_or(kTopFrames);
    ASSIGN_OR_RETURN(auto stacks, ProcessStacks::open(node, frames));
    ASSIGN_OR_RETURN(auto threads, NodeThreads::open(node, stacks));
    ASSIGN_OR_RETURN(auto samples, SampleStacks::open(node, stacks, threads, frames));
    const auto stack_bytes = options.frames ? kStackBytes : kTopBytes;
    auto collections = CollectionEvents::open(node, stack_bytes, report.remarks);
    report.collections_seen = collections.any();
    Bursts bursts(stacks, samples, stack_bytes, std::move(collections), cancelled, report);
    report.began_us = target::clock_ns(CLOCK_REALTIME) / 1000;
    const auto began = target::clock_ns(CLOCK_MONOTONIC);
    RETURN_IF_ERROR(bursts.run(Clock::now() + options.duration));
    report.took_ns = target::clock_ns(CLOCK_MONOTONIC) - began;
    return report;
}

}  // namespace beamdump::sampler
