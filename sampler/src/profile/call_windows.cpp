#include "profile/call_windows.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>
#include <array>
#include <thread>

namespace beamdump::sampler {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kCycle{100};
constexpr std::chrono::milliseconds kShortest{1};
constexpr std::chrono::milliseconds kBetweenReads{5};
/// Calls in a window that cost the node about one part in a hundred of a cycle.
constexpr std::uint64_t kManyCalls = 1000;
/// The first window samples only a few of many calls: the kernel holds back an event that samples
/// too often. Periods are prime, so that no regular order of calls hides one.
constexpr std::array<std::uint64_t, 6> kPeriods = {1, 7, 31, 127, 509, 2039};
constexpr std::uint64_t kSamplesOfAWindow = 200;

}  // namespace

Result<CallWindows> CallWindows::open(pid_t pid, std::span<const NamedFunction> functions) {
    CallWindows windows;
    windows.window_ = kShortest;
    windows.period_ = kPeriods.back();
    for (const auto& function : functions.first(std::min(functions.size(), kMostBreakpoints))) {
        ASSIGN_OR_RETURN(auto events, NodeEvents::open(pid, {.period = windows.period_,
                                                             .breakpoint = function.begin,
                                                             .off = true,
                                                             .wakes = false}));
        windows.events_.push_back(std::move(events));
    }
    return windows;
}

Result<void> CallWindows::take(const Visit& visit) {
    Result<void> outcome;
    for (auto& events : events_) {
        RETURN_IF_ERROR(events.read([&](const Sample& sample, const std::string& thread) {
            if (outcome) {
                outcome = visit(sample, thread);
            }
        }));
    }
    return outcome;
}

/// The next window's length and which calls it samples, by what this one had.
Result<void> CallWindows::fit(std::uint64_t calls) {
    const auto before = window_;
    if (calls > kManyCalls) {
        window_ = std::max<std::chrono::nanoseconds>(kShortest, window_ / (calls / kManyCalls + 1));
    } else if (calls < kManyCalls / 4) {
        window_ = std::min<std::chrono::nanoseconds>(kCycle, window_ * 2);
    }
    const auto expected = static_cast<double>(calls) * static_cast<double>(window_.count()) /
                          static_cast<double>(before.count());
    const auto* period = std::ranges::find_if(kPeriods, [&](std::uint64_t each) {
        return expected <= static_cast<double>(each * kSamplesOfAWindow);
    });
    const auto wanted = period == kPeriods.end() ? kPeriods.back() : *period;
    if (wanted != period_) {
        period_ = wanted;
        for (auto& events : events_) {
            RETURN_IF_ERROR(events.set_period(wanted));
        }
    }
    return {};
}

Result<void> CallWindows::next(Clock::time_point end, const Visit& visit) {
    for (auto& events : events_) {
        RETURN_IF_ERROR(events.refresh());
    }
    ASSIGN_OR_RETURN(const auto before, counted());
    for (auto& events : events_) {
        RETURN_IF_ERROR(events.switch_on());
    }
    const auto on = Clock::now();
    const auto window_end = std::min(on + window_, end);
    while (Clock::now() < window_end) {
        std::this_thread::sleep_until(std::min(window_end, Clock::now() + kBetweenReads));
        RETURN_IF_ERROR(take(visit));
    }
    for (auto& events : events_) {
        RETURN_IF_ERROR(events.switch_off());
    }
    set_for_ += Clock::now() - on;
    RETURN_IF_ERROR(take(visit));
    ASSIGN_OR_RETURN(const auto after, counted());
    RETURN_IF_ERROR(fit(after - before));
    std::this_thread::sleep_until(std::min(on + kCycle, end));
    return {};
}

Result<std::uint64_t> CallWindows::counted() const {
    std::uint64_t counted = 0;
    for (const auto& events : events_) {
        ASSIGN_OR_RETURN(const auto of_function, events.counted());
        counted += of_function;
    }
    return counted;
}

std::uint64_t CallWindows::held_back() const {
    std::uint64_t held_back = 0;
    for (const auto& events : events_) {
        held_back += events.held_back();
    }
    return held_back;
}

std::uint64_t CallWindows::lost() const {
    std::uint64_t lost = 0;
    for (const auto& events : events_) {
        lost += events.lost();
    }
    return lost;
}

std::map<std::string, std::uint64_t> CallWindows::not_sampled() const {
    std::map<std::string, std::uint64_t> all;
    for (const auto& events : events_) {
        for (const auto& [reason, threads] : events.not_sampled()) {
            auto& most = all[reason];
            most = std::max(most, threads);
        }
    }
    return all;
}

}  // namespace beamdump::sampler
