#include "capture/modes/snapshot.h"

#include "capture/modes/at_rest.h"

#include <libdump/base/return_if_error.h>
#include <libvm/target/stop/thread_stop.h>
#include <libvm/target/stop/timed_stop.h>
#include <libvm/target/stop/tracer_thread.h>

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

namespace beamdump::capture {
namespace {

/// The twin does not change; this interval only decides how often the node's health is examined.
constexpr std::chrono::milliseconds kBetweenLooks{2};
/// In a shorter stop no twin can be made.
constexpr std::chrono::milliseconds kShortestTwinStop{5};
/// How long processes are brought to a place where they can be captured, where the stop for a twin
/// has no limit.
constexpr std::chrono::milliseconds kSettlingForATwin{6};
/// How many stops may find processes where they cannot be captured, and end without a twin.
constexpr int kMostStopsInVain = 6;

/// Whether an attempt to make a twin failed only because it took too long, as on a busy machine,
/// and the node may be stopped again. `stops`: number of the node's stops before the attempt.
bool is_worth_another(const Error& error, const target::TwinLimits& limits, std::size_t stops,
                      pid_t node) {
    const auto costs = limits.stops->costs();
    return error.code == ErrorCode::kLimit && costs.size() > stops &&
           (limits.longest_stop
                ? *limits.longest_stop >= kShortestTwinStop
                : costs.back().length_ns <= std::chrono::nanoseconds(kShortAttempt).count()) &&
           !target::has_hanging_thread(node);
}

/// Makes a twin with its own `tracer`. Tries again if it was not there in time; where the stop is
/// limited, all attempts together are.
Result<target::Twin> make_twin(Session& session, target::LiveTarget& target,
                               target::TwinLimits limits,
                               std::unique_ptr<target::TracerThread>& tracer) {
    limits.stops = &session.stopper().stops();
    std::optional<Error> stopped_for;  // the last attempt that stopped the node
    int in_vain = 0;
    for (int attempt = 1;; ++attempt) {
        ASSIGN_OR_RETURN(auto started, target::TracerThread::start());
        tracer = std::move(started);
        session.stopper().await_quota();
        session.stopper().await_good_moment();
        const auto stops = limits.stops->costs().size();
        std::optional<Result<target::Twin>> made;
        auto settling = session.stopper().settling(limits.longest_stop ? *limits.longest_stop / 8
                                                                       : kSettlingForATwin);
        if (in_vain == kMostStopsInVain) {
            settling.worth = nullptr;
        }
        tracer->run(
            [&] { made.emplace(target::Twin::make(target.pid(), limits, std::move(settling))); });
        if (*made) {
            return std::move(*made);
        }
        // A thread that hangs in the kernel is resumed when its tracer ends.
        tracer.reset();
        session.stopper().stops().end();
        session.stopper().threads_resumed();
        const auto costs = limits.stops->costs();
        if (limits.longest_stop && costs.size() > stops) {
            *limits.longest_stop -= std::chrono::nanoseconds(costs.back().length_ns);
        }
        if (made->error().code == ErrorCode::kChanged) {
            ++in_vain;
            continue;
        }
        if (costs.size() > stops || !stopped_for) {
            stopped_for = made->error();
        }
        if (attempt - in_vain == target::kStopAttempts ||
            !is_worth_another(made->error(), limits, stops, target.pid())) {
            return std::unexpected(*stopped_for);
        }
        std::this_thread::sleep_for(target::kBetweenStopAttempts);
    }
}

/// A twin; while it exists the target's memory is read from it.
class TwinReading {
  public:
    static Result<std::unique_ptr<TwinReading>> begin(Session& session, target::LiveTarget& target,
                                                      const target::TwinLimits& limits) {
        std::unique_ptr<target::TracerThread> tracer;
        ASSIGN_OR_RETURN(auto twin, make_twin(session, target, limits, tracer));
        const auto registers = twin.registers();
        std::unique_ptr<TwinReading> reading(
            new TwinReading(session, target, std::move(tracer), std::move(twin)));
        RETURN_IF_ERROR(target.read_twin(reading->twin_.pid()));
        session.vm().forget();
        session.stopper().threads_stopped(registers);
        return reading;
    }
    TwinReading(const TwinReading&) = delete;
    TwinReading& operator=(const TwinReading&) = delete;
    ~TwinReading() { end(); }

    /// The limit once the twin was abandoned: from then on the running node itself is read.
    Result<records::VoidReason> watch() {
        if (abandoned_) {
            return records::VOID_REASON_LIMIT;
        }
        const auto now = std::chrono::steady_clock::now();
        if (now < next_look_) {
            return records::VOID_REASON_NONE;
        }
        next_look_ = now + kBetweenLooks;
        auto sound = twin_.check();
        if (sound) {
            return records::VOID_REASON_NONE;
        }
        if (!give_up(sound.error())) {
            return std::unexpected(sound.error());
        }
        return records::VOID_REASON_LIMIT;
    }

    [[nodiscard]] bool abandoned() const { return abandoned_; }

    /// Whether reading can continue on the node itself after this error of its twin.
    bool give_up(const Error& error) {
        if (!target_.alive()) {
            return false;
        }
        abandoned_ = true;
        session_.warn(fmt::format("snapshot abandoned: {}", error.message));
        end();
        return true;
    }

    /// Switches to the node itself and removes the twin. Data read from the twin stays valid even
    /// if the removal fails. Later calls do nothing.
    void end() {
        if (std::exchange(ended_, true)) {
            return;
        }
        target_.read_itself();
        session_.stopper().threads_resumed();
        session_.vm().forget();
        Result<target::Twin::Remains> remains = target::Twin::Remains::kNone;
        tracer_->run([&] { remains = twin_.remove(); });
        if (!remains) {
            session_.warn(remains.error().message);
        } else if (*remains == target::Twin::Remains::kUntilNodeGoesOn) {
            session_.warn(
                fmt::format("process {} is stopped (by a signal or a debugger): its thread {} and "
                            "its exited twin, process {}, remain until it is continued",
                            target_.pid(), twin_.reaper(), twin_.pid()));
        }
    }

  private:
    TwinReading(Session& session, target::LiveTarget& target,
                std::unique_ptr<target::TracerThread> tracer, target::Twin twin)
        : session_(session), target_(target), tracer_(std::move(tracer)), twin_(std::move(twin)) {}

    Session& session_;
    target::LiveTarget& target_;
    std::unique_ptr<target::TracerThread> tracer_;  // ends after the twin
    target::Twin twin_;
    std::chrono::steady_clock::time_point next_look_;
    bool abandoned_ = false;
    bool ended_ = false;
};

bool is_refusal(const Error& error) {
    return error.code == ErrorCode::kLimit || error.code == ErrorCode::kUnsupported ||
           error.code == ErrorCode::kPermission || error.code == ErrorCode::kExists;
}

}  // namespace

target::TwinLimits snapshot_limits(const CaptureOptions& options) {
    target::TwinLimits limits;
    limits.filtered_too = options.force_twin;
    limits.own_bytes = options.own_bytes.value_or(limits.own_bytes);
    return limits;
}

target::TwinLimits short_twin_limits(std::chrono::nanoseconds longest_stop) {
    target::TwinLimits limits;
    limits.longest_stop = longest_stop;
    return limits;
}

Result<SnapshotLeft> capture_snapshot(Session& session, target::LiveTarget& target) {
    ASSIGN_OR_RETURN(auto twin,
                     TwinReading::begin(session, target, snapshot_limits(session.options())));
    RETURN_IF_ERROR(session.node_facts(records::MEMORY_SOURCE_TWIN, Session::never));
    const std::function<Result<records::VoidReason>()> watch = [&] { return twin->watch(); };
    ASSIGN_OR_RETURN(auto left, capture_at_rest(session, LeftOver::kReturned, &watch));
    RETURN_IF_ERROR(session.ets_rows(false, &watch));
    SnapshotLeft rest;
    rest.abandoned = twin->abandoned();
    twin->end();
    // The rest is read from the node while it runs.
    session.processes().binaries().set_moving(true);
    rest.pending.reserve(left.size());
    for (const auto& slot : left) {
        rest.pending.push_back({slot, 1, records::VOID_REASON_CHANGED});
    }
    return rest;
}

Result<bool> capture_from_twin(Session& session, ProcessRetrier& retrier,
                               target::LiveTarget& target, std::vector<Pending>& pending,
                               std::chrono::nanoseconds longest) {
    auto limits = short_twin_limits(longest);
    limits.filtered_too = session.options().force_twin;
    if (session.options().mode == records::CAPTURE_MODE_SNAPSHOT) {
        // Its stops have no option.
        limits.advice = "try again, or use mode freeze";
    }
    auto twin = TwinReading::begin(session, target, limits);
    if (!twin && is_refusal(twin.error())) {
        session.warn(
            fmt::format("{} large, or not to be captured at that moment, and no twin was made: {}",
                        pending.size() == 1 ? "1 process was"
                                            : fmt::format("{} processes were", pending.size()),
                        twin.error().message));
        return false;
    }
    if (!twin) {
        return std::unexpected(twin.error());
    }
    RETURN_IF_ERROR(session.epoch(records::MEMORY_SOURCE_TWIN));
    const ProcessRetrier::Watch watch = [&] { return (*twin)->watch(); };
    std::vector<Pending> left;
    session.count_retries(pending.size());
    for (auto& process : pending) {
        process.anywhere = true;
        auto done = retrier.attempt(process, &watch);
        // The kernel may have killed the twin during the read.
        const bool lost =
            !done && done.error().code == ErrorCode::kTargetDied && (*twin)->give_up(done.error());
        if (!done && !lost) {
            return std::unexpected(done.error());
        }
        if (lost || !*done) {
            left.push_back(process);
        }
    }
    pending = std::move(left);
    const bool abandoned = (*twin)->abandoned();
    (*twin)->end();
    return !abandoned;
}

}  // namespace beamdump::capture
