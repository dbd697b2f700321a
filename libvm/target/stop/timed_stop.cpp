#include <libdump/base/system_error.h>
#include <libvm/target/process/clock.h>
#include <libvm/target/stop/raised_priority.h>
#include <libvm/target/stop/timed_stop.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

namespace beamdump::target {

using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kBetweenAsking{5};
/// Nothing can be done in a shorter stop.
constexpr std::chrono::milliseconds kShortestStop{2};
/// A hold without a limit is said to last so long from each asking on.
constexpr std::chrono::milliseconds kAhead{50};

}  // namespace

std::chrono::nanoseconds resume_margin(std::chrono::nanoseconds longest) {
    constexpr std::chrono::nanoseconds kMax = std::chrono::microseconds(2500);
    return std::min(longest / 20, kMax);
}

/// Only the thread that stopped a process can let it go, so one thread does both.
struct TimedStop::Keeper {
    TimedStopTerms terms;
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Result<void>> begun;
    bool wanted = true;
    Clock::time_point begin;
    std::vector<ThreadRegisters> registers;
    StopCost cost;
    std::atomic<bool> over = false;
    std::thread thread;

    Result<ThreadStop> stop_and_settle(pid_t pid) {
        StopTerms how{.only = terms.only, .stops = terms.stops};
        how.within = terms.longest ? stand_within(*terms.longest) : how.within;
        how.lasts = terms.longest.value_or(how.within + kAhead);
        how.again_within =
            terms.longest ? *terms.longest - resume_margin(*terms.longest) : how.within;
        auto stop = ThreadStop::stop(pid, how);
        if (stop && terms.settling) {
            auto settled = settle(*stop, *terms.settling);
            if (!settled) {
                return stop->give_up(settled.error());
            }
            registers = std::move(*settled);
        }
        return stop;
    }

    /// Whether the stop is to end although it is still wanted.
    [[nodiscard]] bool cut_short() const {
        return (terms.cut_short && terms.cut_short()) ||
               (terms.stops != nullptr && terms.stops->interrupted());
    }

    void wait_for_end(std::unique_lock<std::mutex>& lock) {
        const auto latest = terms.longest ? begin + *terms.longest - resume_margin(*terms.longest)
                                          : Clock::time_point::max();
        while (wanted && Clock::now() < latest && !cut_short()) {
            if (!terms.longest && terms.stops != nullptr) {
                terms.stops->extend(clock_ns(CLOCK_MONOTONIC) +
                                    std::chrono::nanoseconds(kAhead).count());
            }
            changed.wait_until(lock, std::min(latest, Clock::now() + kBetweenAsking),
                               [this] { return !wanted; });
        }
    }

    void keep(pid_t pid) {
        const RaisedPriority raised;
        // The stopping of the threads, one after the other, counts.
        const auto first = Clock::now();
        auto stop = stop_and_settle(pid);
        std::unique_lock lock(mutex);
        begin = first;
        begun = stop ? Result<void>() : std::unexpected(stop.error());
        changed.notify_all();
        if (!stop) {
            return;
        }
        wait_for_end(lock);
        // Before anything runs: a copy made from here on must not count.
        over = true;
        cost = stop->resume();
    }

    ~Keeper() {
        {
            const std::scoped_lock lock(mutex);
            wanted = false;
        }
        changed.notify_all();
        if (thread.joinable()) {
            thread.join();
        }
    }
};

TimedStop::TimedStop(std::unique_ptr<Keeper> keeper) : keeper_(std::move(keeper)) {}
TimedStop::TimedStop(TimedStop&&) noexcept = default;
TimedStop& TimedStop::operator=(TimedStop&&) noexcept = default;
TimedStop::~TimedStop() = default;

Result<TimedStop> TimedStop::begin(pid_t pid, TimedStopTerms terms) {
    auto keeper = std::make_unique<Keeper>();
    auto* kept = keeper.get();
    keeper->terms = std::move(terms);
    try {
        keeper->thread = std::thread([kept, pid] { kept->keep(pid); });
    } catch (const std::system_error& failure) {
        return std::unexpected(error_of(failure));
    }
    std::unique_lock lock(keeper->mutex);
    keeper->changed.wait(lock, [kept] { return kept->begun.has_value(); });
    if (*keeper->begun) {
        lock.unlock();
        return TimedStop(std::move(keeper));
    }
    const auto error = keeper->begun->error();
    lock.unlock();
    // The kernel lets go what could not be let go otherwise when the keeper's thread has ended.
    keeper->thread.join();
    if (keeper->terms.stops != nullptr) {
        keeper->terms.stops->end();
    }
    return std::unexpected(error);
}

Result<TimedStop> TimedStop::begin_repeatedly(pid_t pid, TimedStopTerms terms,
                                              const std::function<void()>& again) {
    for (int attempt = 1;; ++attempt) {
        const auto first = Clock::now();
        auto stop = begin(pid, terms);
        if (terms.longest) {
            *terms.longest -= Clock::now() - first;
        }
        if (stop || stop.error().code != ErrorCode::kLimit || attempt == kStopAttempts ||
            (terms.longest && *terms.longest < kShortestStop) || has_hanging_thread(pid)) {
            return stop;
        }
        terms.settling.reset();
        std::this_thread::sleep_for(kBetweenStopAttempts);
        if (again) {
            again();
        }
    }
}

const std::vector<ThreadRegisters>& TimedStop::registers() const {
    return keeper_->registers;
}

bool TimedStop::expired() const {
    return keeper_->over;
}

std::chrono::nanoseconds TimedStop::elapsed() const {
    return Clock::now() - keeper_->begin;
}

StopCost TimedStop::end() {
    {
        const std::scoped_lock lock(keeper_->mutex);
        keeper_->wanted = false;
    }
    keeper_->changed.notify_all();
    if (keeper_->thread.joinable()) {
        keeper_->thread.join();
    }
    return keeper_->cost;
}

}  // namespace beamdump::target
