#pragma once

#include "capture/modes/process_retrier.h"

#include <libvm/target/live_target.h>
#include <libvm/target/twin/twin.h>

#include <chrono>

namespace beamdump::capture {

/// The longest stop of a failed attempt to make a snapshot's twin after which another attempt is
/// made.
inline constexpr std::chrono::milliseconds kShortAttempt{250};

/// What the twin of a snapshot may cost, by the options.
target::TwinLimits snapshot_limits(const CaptureOptions& options);
/// What a twin beside short stops may cost.
target::TwinLimits short_twin_limits(std::chrono::nanoseconds longest_stop);

/// What capture_snapshot() hands back.
struct SnapshotLeft {
    std::vector<Pending> pending;
    bool abandoned = false;  ///< the twin had to be
};

/// The whole node from a copy-on-write twin of it, made in one short stop. Hands back the processes
/// that ran, collected or were being written to in that moment, and those that were left when the
/// twin had to be abandoned.
Result<SnapshotLeft> capture_snapshot(Session& session, target::LiveTarget& target);

/// Captures from a twin what is too large for a stop; takes out of `pending` what was captured.
/// The stop in which it is made is no longer than `longest`. Where no twin can be made all are
/// left, with a warning that says why. True if a twin was made and not abandoned: another one may
/// capture what is left.
Result<bool> capture_from_twin(Session& session, ProcessRetrier& retrier,
                               target::LiveTarget& target, std::vector<Pending>& pending,
                               std::chrono::nanoseconds longest);

}  // namespace beamdump::capture
