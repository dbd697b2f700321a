#pragma once

#include <libdump/write/dump_writer.h>
#include <libvm/beam/collections/collectors.h>
#include <libvm/beam/native/native_calls.h>
#include <libvm/beam/processes/yield_state.h>
#include <libvm/target/process/cgroups.h>
#include <libvm/target/stop/timed_stop.h>

#include <records.pb.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace beamdump::capture {

/// The node stopped, for as long as the object lives or until the stop ends by itself: its time is
/// up, the output stalls, the capture is cancelled.
class NodeStop {
  public:
    /// `on_end` is called once, when the node runs again.
    NodeStop(target::TimedStop stop, std::function<void()> on_end)
        : stop_(std::move(stop)), on_end_(std::move(on_end)) {}
    NodeStop(NodeStop&& other) noexcept
        : stop_(std::move(other.stop_)), on_end_(std::exchange(other.on_end_, nullptr)) {}
    NodeStop& operator=(NodeStop&&) = delete;
    NodeStop(const NodeStop&) = delete;
    NodeStop& operator=(const NodeStop&) = delete;
    ~NodeStop() { end(); }

    /// The node runs, or may run from here on.
    [[nodiscard]] bool expired() const { return stop_.expired(); }
    /// Since the stop began.
    [[nodiscard]] std::chrono::nanoseconds elapsed() const { return stop_.elapsed(); }
    /// LIMIT once the stop has expired: a copy that is not complete by then is void.
    [[nodiscard]] Result<records::VoidReason> watch() const {
        return expired() ? records::VOID_REASON_LIMIT : records::VOID_REASON_NONE;
    }

    /// Resumes the node. Later calls do nothing.
    void end() {
        if (on_end_) {
            stop_.end();
            std::exchange(on_end_, nullptr)();
        }
    }

  private:
    target::TimedStop stop_;
    std::function<void()> on_end_;
};

/// Stops the node for a capture: within its bound, within this program's own processor quota, and
/// no longer than the output accepts data. Knows which running processes' state is certain while
/// the node stands.
class NodeStopper {
  public:
    struct Parts {
        beam::Vm& vm;
        const DumpWriter& writer;
        /// Notified of each stop. Non-owning; null: nobody.
        target::StopTracker* stops;
        /// Receives sentences for the dump's warnings.
        std::function<void(std::string)> warn;
        /// True ends a stop before its time.
        std::function<bool()> cancelled;
        /// How long good moments are waited for, in all.
        std::chrono::nanoseconds patience;
    };
    NodeStopper(Parts parts, beam::YieldState yield_state, beam::NativeCalls native_calls,
                beam::Collectors collectors);

    /// How to bring running processes to a yield point in a stop: schedulers are resumed briefly,
    /// for at most `longest` in total; a millisecond is a dozen tries. To be called before each
    /// stop: reads what its judgement needs.
    [[nodiscard]] target::Settling settling(
        std::chrono::nanoseconds longest = std::chrono::microseconds(1200));

    /// Stops the node (target::TimedStop::begin_repeatedly()). `on_end` is called when the stop has
    /// ended.
    Result<NodeStop> stop(std::optional<std::chrono::nanoseconds> longest,
                          target::Settling settling, std::function<void()> on_end);

    /// Before a stop: waits until a quota of processor time is replenished. Returns how long the
    /// node can then be stopped within it; nullopt: there is no such quota.
    std::optional<std::chrono::nanoseconds> await_quota();

    /// Before a stop: waits, as long as patience is left, until it is likely to find large
    /// processes where they can be captured (beam::Collectors::is_good_moment()).
    void await_good_moment();

    /// The registers of the stopped threads, valid until threads_resumed(): running processes whose
    /// state is certain can be copied like others.
    void threads_stopped(std::span<const target::ThreadRegisters> threads);
    /// The state of a process whose thread died, which is certain.
    void know(beam::Address process, const beam::YieldState::State& state) {
        yield_state_.know(process, state);
    }
    void threads_resumed() {
        yield_state_.forget();
        native_calls_.forget();
        collectors_.forget();
    }

    [[nodiscard]] const beam::YieldState& yield_state() const { return yield_state_; }
    [[nodiscard]] const beam::Collectors& collectors() const { return collectors_; }
    [[nodiscard]] target::StopTracker& stops() {
        return parts_.stops != nullptr ? *parts_.stops : own_stops_;
    }

  private:
    void bound_by_quota(std::optional<std::chrono::nanoseconds>& longest,
                        target::Settling& settling);
    void ended();

    Parts parts_;
    beam::YieldState yield_state_;
    beam::NativeCalls native_calls_;
    beam::Collectors collectors_;
    std::chrono::nanoseconds patience_left_;
    target::StopTracker own_stops_;
    std::atomic<bool> output_stalled_ = false;
    std::optional<target::CpuQuota> quota_;  // that holds back the threads that hold the node
    bool quota_reported_ = false;
};

}  // namespace beamdump::capture
