#include "capture/snapshot.h"

#include "capture/at_rest.h"
#include "target/twin.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

namespace beamdump::capture {
namespace {

/// The twin does not change: how often the node's health is looked at is a matter of that alone.
constexpr std::chrono::milliseconds kBetweenLooks{2};

/// A twin, and the target's memory being the twin's as long as it is there.
class TwinReading {
  public:
    static Result<std::unique_ptr<TwinReading>> begin(Session& session,
                                                      target::LiveTarget& target) {
        auto twin = target::Twin::make(target.pid(), {}, session.settling());
        if (!twin) {
            return std::unexpected(twin.error());
        }
        session.stands(twin->registers());
        session.add_stop(twin->stop_cost());
        if (auto done = target.read_twin(twin->pid()); !done) {
            return std::unexpected(done.error());
        }
        session.vm().forget();
        return std::unique_ptr<TwinReading>(new TwinReading(session, target, std::move(*twin)));
    }
    TwinReading(const TwinReading&) = delete;
    TwinReading& operator=(const TwinReading&) = delete;
    ~TwinReading() { target_.read_itself(); }

    /// LIMIT once the twin was given up: from then on the node itself is read, which does not hold
    /// still.
    Result<records::VoidReason> watch() {
        if (given_up_) {
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

    /// Whether the node itself can go on being read after that error of its twin.
    bool give_up(const Error& error) {
        if (!target_.alive()) {
            return false;
        }
        given_up_ = true;
        session_.warn(fmt::format("the node's twin was given up: {}", error.message));
        return end().has_value();
    }

    Result<void> end() {
        target_.read_itself();
        session_.moves_on();
        session_.vm().forget();
        return twin_.remove();
    }

  private:
    TwinReading(Session& session, target::LiveTarget& target, target::Twin twin)
        : session_(session), target_(target), twin_(std::move(twin)) {}

    Session& session_;
    target::LiveTarget& target_;
    target::Twin twin_;
    std::chrono::steady_clock::time_point next_look_;
    bool given_up_ = false;
};

bool is_refusal(const Error& error) {
    return error.code == ErrorCode::kLimit || error.code == ErrorCode::kUnsupported ||
           error.code == ErrorCode::kPermission || error.code == ErrorCode::kExists;
}

}  // namespace

Result<std::vector<Pending>> capture_snapshot(Session& session, target::LiveTarget& target) {
    auto twin = TwinReading::begin(session, target);
    if (!twin) {
        return std::unexpected(twin.error());
    }
    if (auto done = session.node_facts(records::MEMORY_SOURCE_TWIN, false); !done) {
        return std::unexpected(done.error());
    }
    const std::function<Result<records::VoidReason>()> watch = [&] { return (*twin)->watch(); };
    auto left = capture_at_rest(session, false, &watch);
    if (!left) {
        return std::unexpected(left.error());
    }
    if (auto ended = (*twin)->end(); !ended) {
        return std::unexpected(ended.error());
    }
    // What is still to come is read from the node as it runs.
    session.binaries().set_moving(true);
    std::vector<Pending> pending;
    for (const auto& slot : *left) {
        pending.push_back({slot, 1, records::VOID_REASON_CHANGED});
    }
    return pending;
}

Result<void> capture_from_twin(Session& session, Tries& tries, target::LiveTarget& target,
                               std::vector<Pending>& pending) {
    auto twin = TwinReading::begin(session, target);
    if (!twin && is_refusal(twin.error())) {
        session.warn(
            fmt::format("{} processes are too large for a stop of the node, and no twin of "
                        "it was made: {}",
                        pending.size(), twin.error().message));
        return {};
    }
    if (!twin) {
        return std::unexpected(twin.error());
    }
    if (auto done = session.epoch(records::MEMORY_SOURCE_TWIN); !done) {
        return done;
    }
    const Tries::Watch watch = [&] { return (*twin)->watch(); };
    std::vector<Pending> left;
    session.count_retries(pending.size());
    for (auto& process : pending) {
        auto done = tries.attempt(process, &watch);
        // The kernel may have ended the twin while it was read.
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
    return (*twin)->end();
}

}  // namespace beamdump::capture
