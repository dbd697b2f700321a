#include <libdump/base/return_if_error.h>
#include <libsample/profile/call_windows.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <thread>

namespace beamdump::sampler {
namespace {

constexpr double kIn95 = 1.96;
/// No event in a time: at 95% there are at most so many, in the mean, in that time (Poisson).
constexpr double kOfNone = 3.0;

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

void sleep_to_random_moment(std::chrono::steady_clock::time_point begin,
                            std::chrono::steady_clock::time_point latest,
                            std::minstd_rand& random) {
    const std::chrono::nanoseconds room = latest - begin;
    if (room > std::chrono::nanoseconds{0}) {
        std::uniform_int_distribution<std::int64_t> moment(0, room.count());
        std::this_thread::sleep_until(begin + std::chrono::nanoseconds(moment(random)));
    }
}

void CallRate::add_window(double seconds, std::uint64_t calls) {
    if (seconds <= 0) {
        return;
    }
    rates_.push_back(static_cast<double>(calls) / seconds);
    seconds_ += seconds;
    counted_ += calls;
}

double CallRate::a_second() const {
    return rates_.empty()
               ? 0
               : std::reduce(rates_.begin(), rates_.end()) / static_cast<double>(rates_.size());
}

double CallRate::error() const {
    if (seconds_ <= 0) {
        return 0;
    }
    if (counted_ == 0) {
        return kOfNone / seconds_;
    }
    const auto windows = static_cast<double>(rates_.size());
    const auto mean = a_second();
    double squares = 0;
    for (const auto each : rates_) {
        squares += (each - mean) * (each - mean);
    }
    const auto between = windows > 1 ? std::sqrt(squares / (windows - 1) / windows) : 0;
    const auto random = mean / std::sqrt(static_cast<double>(counted_));
    return kIn95 * std::max(between, random);
}

Result<CallWindows> CallWindows::open(pid_t pid, std::span<const target::NamedFunction> functions,
                                      NodeEventTerms terms) {
    CallWindows windows;
    const auto most = functions.first(std::min(functions.size(), kMostBreakpoints));
    windows.pid_ = pid;
    windows.functions_.assign(most.begin(), most.end());
    windows.window_ = kShortest;
    windows.terms_ = std::move(terms);
    windows.terms_.period = kPeriods.back();
    windows.terms_.off = true;
    windows.terms_.wakes = false;
    RETURN_IF_ERROR(windows.set_up());
    return windows;
}

Result<void> CallWindows::set_up() {
    for (const auto& function : functions_) {
        auto terms = terms_;
        terms.breakpoint = function.begin;
        auto events = NodeEvents::open(pid_, terms);
        if (!events) {
            events_.clear();
            return std::unexpected(events.error());
        }
        events_.push_back(std::move(*events));
    }
    return {};
}

Result<void> CallWindows::close() {
    ASSIGN_OR_RETURN(counted_, counted());
    held_back_ = held_back();
    lost_ = lost();
    not_sampled_ = not_sampled();
    events_.clear();
    return {};
}

Result<void> CallWindows::take(const Visit& visit) {
    Result<void> outcome;
    for (std::size_t at = 0; at < events_.size(); ++at) {
        RETURN_IF_ERROR(events_[at].read([&](const Sample& sample, const std::string& thread) {
            if (outcome) {
                outcome = visit(at, sample, thread);
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
    if (wanted != terms_.period) {
        terms_.period = wanted;
        for (auto& events : events_) {
            RETURN_IF_ERROR(events.set_period(wanted));
        }
    }
    return {};
}

Result<CallWindow> CallWindows::next(Clock::time_point end, const Visit& visit) {
    const auto began = Clock::now();
    if (events_.empty()) {
        RETURN_IF_ERROR(set_up());
    }
    sleep_to_random_moment(began, std::min(began + kCycle, end) - window_, random_);
    for (auto& events : events_) {
        RETURN_IF_ERROR(events.refresh());
    }
    ASSIGN_OR_RETURN(const auto before, by_thread());
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
    CallWindow window{.set = Clock::now() - on};
    set_for_ += window.set;
    ASSIGN_OR_RETURN(const auto after, by_thread());
    RETURN_IF_ERROR(take(visit));
    std::uint64_t calls = 0;
    std::map<pid_t, std::uint64_t> of_threads;
    for (std::size_t at = 0; at < events_.size(); ++at) {
        auto& of_function = window.calls.emplace_back(0);
        for (const auto& [thread, counted] : after[at]) {
            const auto known = before[at].find(thread);
            const auto more = counted - (known == before[at].end() ? 0 : known->second);
            of_function += more;
            of_threads[thread] += more;
        }
        calls += of_function;
    }
    for (const auto& [thread, more] : of_threads) {
        window.most_calls_of_thread = std::max(window.most_calls_of_thread, more);
    }
    RETURN_IF_ERROR(fit(calls));
    std::this_thread::sleep_until(std::min(began + kCycle, end));
    return window;
}

Result<std::vector<std::map<pid_t, std::uint64_t>>> CallWindows::by_thread() const {
    std::vector<std::map<pid_t, std::uint64_t>> counted;
    for (const auto& events : events_) {
        ASSIGN_OR_RETURN(auto of_function, events.counted_by_thread());
        counted.push_back(std::move(of_function));
    }
    return counted;
}

Result<std::uint64_t> CallWindows::counted() const {
    auto counted = counted_;
    for (const auto& events : events_) {
        ASSIGN_OR_RETURN(const auto of_function, events.counted());
        counted += of_function;
    }
    return counted;
}

std::uint64_t CallWindows::held_back() const {
    auto held_back = held_back_;
    for (const auto& events : events_) {
        held_back += events.held_back();
    }
    return held_back;
}

std::uint64_t CallWindows::lost() const {
    auto lost = lost_;
    for (const auto& events : events_) {
        lost += events.lost();
    }
    return lost;
}

std::map<std::string, std::uint64_t> CallWindows::not_sampled() const {
    auto all = not_sampled_;
    for (const auto& events : events_) {
        for (const auto& [reason, threads] : events.not_sampled()) {
            auto& most = all[reason];
            most = std::max(most, threads);
        }
    }
    return all;
}

}  // namespace beamdump::sampler
