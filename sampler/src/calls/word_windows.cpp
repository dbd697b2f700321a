#include "calls/word_windows.h"

#include <libdump/base/return_if_error.h>
#include <libsample/profile/call_windows.h>
#include <libvm/beam/layout/runtime_names.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <thread>

namespace beamdump::sampler {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kCycle{100};
constexpr std::chrono::milliseconds kShortest{1};
constexpr std::chrono::milliseconds kLongestWindow{40};
/// Entries in a window. The kernel holds back an event that samples too often.
constexpr std::uint64_t kManyEntries = 200;
constexpr std::uint64_t kFewEntries = 50;
/// The return address is on top.
constexpr std::uint32_t kReturnAddressBytes = 8;

}  // namespace

/// The points of a window, and until when none is missing.
struct WordWindows::Seen {
    std::vector<CallPoint> points;
    std::uint64_t until = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t entries = 0;
};

std::optional<WordWindows> WordWindows::open(ObservedNode& node, const NodeThreads& threads) {
    beam::LayoutNames names(node.vm().layout());
    const auto counter = names.field(beam::runtime::SchedulerCollections::garbage_cols);
    if (!names.outcome() || counter.offset % 8 != 0) {
        return std::nullopt;
    }
    const auto collection = node.shared().begin_of(kCollectionFragment);
    return collection ? std::optional(WordWindows(node, threads, counter.offset, *collection))
                      : std::nullopt;
}

Result<NodeEvents> WordWindows::events_at(Address place) const {
    return NodeEvents::open(node_->vm().target().pid(),
                            {.period = 1,
                             .breakpoint = place,
                             .schedulers_only = true,
                             .off = true,
                             .wakes = false,
                             .scheduler_stack_bytes = kReturnAddressBytes});
}

Result<NodeEvents> WordWindows::events_at_counters() const {
    const auto counter = [this](pid_t thread) -> std::optional<std::uint64_t> {
        const auto* scheduler = threads_->scheduler(thread);
        return scheduler != nullptr && scheduler->kind == records::SCHEDULER_KIND_NORMAL
                   ? std::optional(scheduler->structure + counter_)
                   : std::nullopt;
    };
    return NodeEvents::open(node_->vm().target().pid(),
                            {.period = 1,
                             .written = counter,
                             .schedulers_only = true,
                             .off = true,
                             .wakes = false,
                             .scheduler_stack_bytes = kReturnAddressBytes});
}

/// What the events of one place have sampled. Nothing counts from where the kernel dropped samples,
/// so that a thread has counted more than there are, or held an event back.
Result<void> WordWindows::take(NodeEvents& events, CallPoint::Kind kind, bool process_known,
                               Seen& into) {
    struct OfThread {
        std::uint64_t samples = 0, last = 0;
    };
    std::map<pid_t, OfThread> threads;
    RETURN_IF_ERROR(events.read([&](const Sample& sample, const std::string&) {
        auto& thread = threads[sample.thread];
        ++thread.samples;
        thread.last = std::max(thread.last, sample.time_ns);
        CallPoint point{.kind = kind,
                        .time_ns = sample.time_ns,
                        .thread = sample.thread,
                        .process = process_known ? sample.at(Register::kProcess) : 0,
                        .heap_top = sample.at(Register::kHeapTop),
                        .stack_top = sample.at(Register::kStackPointer)};
        if (sample.stack.size() >= sizeof(point.returns_to)) {
            std::memcpy(&point.returns_to, sample.stack.data(), sizeof(point.returns_to));
        }
        into.points.push_back(point);
        into.entries += kind == CallPoint::Kind::kEntry ? 1 : 0;
    }));
    ASSIGN_OR_RETURN(const auto counted, events.counted_by_thread());
    for (const auto& [id, count] : counted) {
        const auto& thread = threads[id];
        if (count != thread.samples) {
            into.until = std::min(into.until, thread.last);
        }
    }
    into.until = std::min(into.until, events.held_back_since().value_or(into.until));
    return {};
}

Result<void> WordWindows::next(const LoadedFunction& function, std::uint64_t returns_to,
                               CallWords& into, Clock::time_point end) {
    const auto began = Clock::now();
    auto& window = windows_.try_emplace(function.entry, kShortest).first->second;
    ASSIGN_OR_RETURN(auto counters, events_at_counters());
    ASSIGN_OR_RETURN(auto collections, events_at(collection_));
    ASSIGN_OR_RETURN(auto returns, events_at(returns_to));
    ASSIGN_OR_RETURN(auto entries, events_at(function.entry));
    sleep_to_random_moment(began, std::min(began + kCycle, end) - 2 * window, random_);
    // A call counts only if what ends it is seen: entries are the last to begin and the first to
    // end.
    RETURN_IF_ERROR(counters.switch_on());
    RETURN_IF_ERROR(collections.switch_on());
    RETURN_IF_ERROR(returns.switch_on());
    RETURN_IF_ERROR(entries.switch_on());
    std::this_thread::sleep_for(window);
    RETURN_IF_ERROR(entries.switch_off());
    std::this_thread::sleep_for(window);
    RETURN_IF_ERROR(returns.switch_off());
    RETURN_IF_ERROR(collections.switch_off());
    RETURN_IF_ERROR(counters.switch_off());
    Seen seen;
    RETURN_IF_ERROR(take(entries, CallPoint::Kind::kEntry, true, seen));
    RETURN_IF_ERROR(take(returns, CallPoint::Kind::kReturn, true, seen));
    RETURN_IF_ERROR(take(collections, CallPoint::Kind::kCollection, true, seen));
    RETURN_IF_ERROR(take(counters, CallPoint::Kind::kCollection, false, seen));
    std::erase_if(seen.points, [&](const CallPoint& point) { return point.time_ns > seen.until; });
    into.add_window(std::move(seen.points), returns_to, function.calls_itself);
    if (seen.entries > kManyEntries) {
        window = std::max<std::chrono::nanoseconds>(kShortest, window / 2);
    } else if (seen.entries < kFewEntries) {
        window = std::min<std::chrono::nanoseconds>(kLongestWindow, window * 2);
    }
    std::this_thread::sleep_until(std::min(began + kCycle, end));
    return {};
}

}  // namespace beamdump::sampler
