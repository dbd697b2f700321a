#include "capture/session/node_stopper.h"

#include <libdump/base/return_if_error.h>
#include <libvm/target/stop/raised_priority.h>

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace beamdump::capture {
namespace {

/// How long the output may accept nothing while the node is stopped.
constexpr std::chrono::milliseconds kMaxWaiting{50};
/// How often is looked for a good moment. Before one stop it is waited for a third of the patience
/// at most: a process may stay where it cannot be captured, and another stop is made then.
constexpr std::chrono::microseconds kBetweenLooksForMoment{200};
constexpr int kStopsToWaitFor = 3;

}  // namespace

NodeStopper::NodeStopper(Parts parts, beam::YieldState yield_state, beam::NativeCalls native_calls,
                         beam::Collectors collectors)
    : parts_(std::move(parts)),
      yield_state_(std::move(yield_state)),
      native_calls_(std::move(native_calls)),
      collectors_(std::move(collectors)),
      patience_left_(parts_.patience) {
    // No quota of processor time applies to a thread with real-time priority.
    if (!target::RaisedPriority().real_time()) {
        quota_ = target::CpuQuota::of_this_process();
    }
}

target::Settling NodeStopper::settling(std::chrono::nanoseconds longest) {
    native_calls_.prepare();
    std::function<bool(std::span<const target::ThreadRegisters>)> worth;
    // Of the interpreter no state of a process that runs is known.
    if (parts_.vm.facts().jit) {
        worth = [this](std::span<const target::ThreadRegisters> threads) {
            threads_stopped(threads);
            return collectors_.can_be_captured(yield_state_);
        };
    }
    return {[this](const target::ThreadRegisters& thread) {
                return yield_state_.at_yield_point(thread, parts_.vm.target().memory()) ||
                       native_calls_.stays_in_call(thread);
            },
            [this](const target::ThreadRegisters& thread) {
                return native_calls_.known_in_compiled_code(thread);
            },
            [this](std::span<const target::ThreadRegisters> threads) {
                return collectors_.between_stores(threads);
            },
            std::move(worth), longest};
}

void NodeStopper::threads_stopped(std::span<const target::ThreadRegisters> threads) {
    yield_state_.record(threads, parts_.vm.target().memory());
    for (const auto& [process, state] : native_calls_.states(threads)) {
        yield_state_.know(process, state);
    }
    collectors_.record(threads);
}

void NodeStopper::await_good_moment() {
    const auto begin = std::chrono::steady_clock::now();
    const auto end = begin + std::min(patience_left_, parts_.patience / kStopsToWaitFor);
    while (std::chrono::steady_clock::now() < end && !collectors_.is_good_moment() &&
           !parts_.cancelled()) {
        std::this_thread::sleep_for(kBetweenLooksForMoment);
    }
    patience_left_ -= std::min<std::chrono::nanoseconds>(patience_left_,
                                                         std::chrono::steady_clock::now() - begin);
}

std::optional<std::chrono::nanoseconds> NodeStopper::await_quota() {
    if (!quota_) {
        return std::nullopt;
    }
    std::this_thread::sleep_for(quota_->period);
    return quota_->unthrottled();
}

void NodeStopper::bound_by_quota(std::optional<std::chrono::nanoseconds>& longest,
                                 target::Settling& settling) {
    const auto unthrottled = await_quota();
    if (!longest || !unthrottled || *unthrottled >= *longest) {
        return;
    }
    longest = unthrottled;
    settling.longest = std::min(settling.longest, *unthrottled / 4);
    if (!std::exchange(quota_reported_, true)) {
        parts_.warn(
            fmt::format("a cgroup quota gives this program {:.0f}% of a processor: stops of the "
                        "node are limited to {:.1f} ms",
                        100.0 * static_cast<double>(quota_->runtime.count()) /
                            static_cast<double>(quota_->period.count()),
                        static_cast<double>(longest->count()) / 1e6));
    }
}

Result<NodeStop> NodeStopper::stop(std::optional<std::chrono::nanoseconds> longest,
                                   target::Settling settling, std::function<void()> on_end) {
    bound_by_quota(longest, settling);
    target::TimedStopTerms terms{.longest = longest, .settling = std::move(settling)};
    terms.cut_short = [this] {
        const bool stalled = parts_.writer.waiting() > kMaxWaiting;
        output_stalled_ = output_stalled_ || stalled;
        return stalled || parts_.cancelled();
    };
    terms.stops = &stops();
    ASSIGN_OR_RETURN(auto stop,
                     target::TimedStop::begin_repeatedly(parts_.vm.target().pid(), std::move(terms),
                                                         [this] { await_quota(); }));
    threads_stopped(stop.registers());
    return NodeStop(std::move(stop), [this, on_end = std::move(on_end)] {
        ended();
        on_end();
    });
}

void NodeStopper::ended() {
    threads_resumed();
    if (output_stalled_.exchange(false)) {
        parts_.warn(
            fmt::format("the output was blocked for {} ms while the node was stopped, so the node "
                        "was resumed: processes not read by then are left out",
                        kMaxWaiting.count()));
    }
}

}  // namespace beamdump::capture
