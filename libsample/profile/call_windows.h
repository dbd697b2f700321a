#pragma once

#include <libsample/profile/node_events.h>
#include <libvm/target/unwind/native_frames.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace beamdump::sampler {

/// Sleeps to a random moment from `begin` to `latest`; not at all if that is not later. What begins
/// at equal distances can fall into step with what the node does.
void sleep_to_random_moment(std::chrono::steady_clock::time_point begin,
                            std::chrono::steady_clock::time_point latest, std::minstd_rand& random);

/// How often something is called, from windows in which all calls were counted. Each window stands
/// for an equal part of the time, however long it was: windows are shorter where there are more
/// calls.
class CallRate {
  public:
    /// Not one without time.
    void add_window(double seconds, std::uint64_t calls);

    [[nodiscard]] std::uint64_t counted() const { return counted_; }
    /// Calls a second.
    [[nodiscard]] double a_second() const;
    /// Half of the 95% interval: by the differences between windows, and at least that of events at
    /// random moments. No call was counted: what they can be at most.
    [[nodiscard]] double error() const;

  private:
    std::vector<double> rates_;  // of each window
    double seconds_ = 0;
    std::uint64_t counted_ = 0;
};

/// Breakpoints that x86-64 has for each thread.
inline constexpr std::size_t kMostBreakpoints = 4;

/// One window and the time that it stands for.
struct CallWindow {
    std::chrono::nanoseconds set{0};         ///< how long breakpoints were set
    std::vector<std::uint64_t> calls{};      ///< meanwhile, of each function
    std::uint64_t most_calls_of_thread = 0;  ///< of all functions, by one thread
};

/// Counts and samples calls of a few functions by breakpoints of the processor, which are set in
/// short windows at random moments: each call costs the node some microseconds, and a window is
/// made shorter where there are many. Nothing of the node is stopped or changed.
class CallWindows {
  public:
    /// `function`: its index among those that are counted.
    using Visit =
        std::function<Result<void>(std::size_t function, const Sample&, const std::string& thread)>;

    /// At most kMostBreakpoints functions; other terms than these (stack bytes, threads) as given.
    /// Errors as NodeEvents::open().
    static Result<CallWindows> open(pid_t pid, std::span<const target::NamedFunction> functions,
                                    NodeEventTerms terms = {});

    /// One window within the next tenth of a second, at most until `end`; visits the samples.
    Result<CallWindow> next(std::chrono::steady_clock::time_point end, const Visit& visit);

    /// Gives the processor's breakpoints back until the next window. What was counted stays.
    Result<void> close();

    /// Calls while breakpoints were set.
    [[nodiscard]] Result<std::uint64_t> counted() const;
    /// How long they were set, in all.
    [[nodiscard]] std::chrono::nanoseconds set_for() const { return set_for_; }
    [[nodiscard]] std::uint64_t held_back() const;
    [[nodiscard]] std::uint64_t lost() const;
    [[nodiscard]] std::map<std::string, std::uint64_t> not_sampled() const;

  private:
    CallWindows() = default;
    Result<void> set_up();
    Result<void> take(const Visit& visit);
    Result<void> fit(std::uint64_t calls);
    /// The calls of each function.
    [[nodiscard]] Result<std::vector<std::map<pid_t, std::uint64_t>>> by_thread() const;

    pid_t pid_ = 0;
    std::vector<target::NamedFunction> functions_;
    NodeEventTerms terms_;
    std::vector<NodeEvents> events_;  // one a function; none: closed
    std::minstd_rand random_{std::random_device{}()};
    std::chrono::nanoseconds window_{0};
    std::chrono::nanoseconds set_for_{0};
    // What events that were closed counted.
    std::uint64_t counted_ = 0;
    std::uint64_t held_back_ = 0;
    std::uint64_t lost_ = 0;
    std::map<std::string, std::uint64_t> not_sampled_;
};

}  // namespace beamdump::sampler
