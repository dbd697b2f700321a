#pragma once

#include <libdump/profile/profile.h>
#include <libdump/profile/sample_log.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace beamdump {

/// Calls of native functions, counted by breakpoints that are set for a part of the time.
struct CallCounts {
    std::vector<std::string> functions{};
    std::uint64_t counted = 0;  ///< while they were set: all calls, by any thread
    std::int64_t set_ns = 0;    ///< how long they were set in all
    /// Each window in which they were set stands for an equal part of the time; with half of the
    /// 95% interval.
    double a_second = 0, a_second_error = 0;
    std::uint64_t held_back = 0;  ///< how often the kernel stopped counting for a moment
};

/// Stops of threads, one at a time.
struct SampleStops {
    std::uint64_t count = 0;
    std::int64_t total_ns = 0, longest_ns = 0;
};

/// A profile and how it was made.
struct ProfileReport {
    std::string node;
    std::string otp_release;
    pid_t pid = 0;
    std::int64_t began_us = 0;  ///< since the epoch
    std::int64_t took_ns = 0;
    std::uint64_t rate = 0;
    bool readings = false;  ///< where processes last paused, not samples of threads
    Profile profile;
    /// The samples themselves, where they are kept; `profile` has none then.
    std::optional<SampleLog> log{};
    std::optional<CallCounts> calls{};   ///< samples are of calls
    std::optional<SampleStops> stops{};  ///< samples are of threads that were stopped
    std::uint64_t lost = 0;              ///< samples that the kernel dropped
    /// Readings in which a scheduler had no process, or it changed meanwhile.
    std::uint64_t without_process = 0;
    bool kernel_seen = true;  ///< samples include time in the kernel
    /// How long after a sample it was attributed, the median and the longest; nothing: no sample.
    std::optional<std::int64_t> delay_ns{}, longest_delay_ns{};
    std::map<std::string, std::uint64_t> not_sampled{};  ///< threads, by reason
    std::vector<std::string> remarks{};
    bool cut_short = false;  ///< the node ended, or the profile became too large

    [[nodiscard]] bool complete() const {
        return !cut_short && lost == 0 && not_sampled.empty() && (!log || log->left_out() == 0);
    }
    /// Processor time of a sample.
    [[nodiscard]] std::uint64_t period_ns() const { return 1'000'000'000 / rate; }
};

/// A sentence for each thing that the samples lack, and the remarks.
std::vector<std::string> shortcomings(const ProfileReport& report);

}  // namespace beamdump
