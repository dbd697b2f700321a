#pragma once

#include "profile/native_frames.h"
#include "profile/node_events.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace beamdump::sampler {

/// Breakpoints that x86-64 has for each thread.
inline constexpr std::size_t kMostBreakpoints = 4;

/// Counts and samples calls of a few functions by breakpoints of the processor, which are set in
/// short windows: each call costs the node about a microsecond, and a window is made shorter where
/// there are many. Nothing of the node is stopped or changed.
class CallWindows {
  public:
    using Visit = std::function<Result<void>(const Sample&, const std::string& thread)>;

    /// At most kMostBreakpoints functions. Errors as NodeEvents::open().
    static Result<CallWindows> open(pid_t pid, std::span<const NamedFunction> functions);

    /// One window and the time until the next, at most until `end`; visits the samples.
    Result<void> next(std::chrono::steady_clock::time_point end, const Visit& visit);

    /// Calls while breakpoints were set.
    [[nodiscard]] Result<std::uint64_t> counted() const;
    /// How long they were set, in all.
    [[nodiscard]] std::chrono::nanoseconds set_for() const { return set_for_; }
    [[nodiscard]] std::uint64_t held_back() const;
    [[nodiscard]] std::uint64_t lost() const;
    [[nodiscard]] std::map<std::string, std::uint64_t> not_sampled() const;

  private:
    CallWindows() = default;
    Result<void> take(const Visit& visit);
    Result<void> fit(std::uint64_t calls);

    std::vector<NodeEvents> events_;  // one a function
    std::chrono::nanoseconds window_;
    std::uint64_t period_;
    std::chrono::nanoseconds set_for_{0};
};

}  // namespace beamdump::sampler
