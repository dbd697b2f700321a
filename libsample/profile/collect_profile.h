#pragma once

#include <libdump/profile/profile_report.h>
#include <libsample/node/observed_node.h>
#include <libvm/target/stop/stop_tracker.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace beamdump::sampler {

struct ProfileOptions {
    std::chrono::milliseconds duration{10'000};
    std::uint32_t rate = 99;  ///< samples a second: of a thread's processor time, or readings
    SamplesBy by = SamplesBy::kNone;
    std::optional<NativeFilter> only{};  ///< samples of this native code alone
    bool exact = false;                  ///< of each call of that, not of processor time
    bool readings = false;               ///< without perf events, though they are allowed
    /// Instead of perf events: threads that run are stopped for a moment, `rate` times a second.
    /// Notified of each stop. Non-owning; null: nothing is stopped.
    target::StopTracker* stops = nullptr;
    std::size_t frames = 100;  ///< of a stack
    bool keep = false;         ///< the samples, in place of their counts
};

/// Samples a node for a time, or until `cancelled`. Nothing of the node is changed, and nothing is
/// stopped but with ProfileOptions::stops; its perf events end with this process at the latest.
/// Memory: bounded, but for 24 bytes a stop. kUsage: perf events cannot show what the interpreter
/// runs, and readings were not asked for.
Result<ProfileReport> collect_profile(ObservedNode& node, const ProfileOptions& options,
                                      const std::atomic<bool>& cancelled);

}  // namespace beamdump::sampler
