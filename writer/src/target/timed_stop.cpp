#include "target/timed_stop.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace beamdump::target {

using Clock = std::chrono::steady_clock;

/// Only the thread that stopped a process can let it go, so one thread does both.
struct TimedStop::Keeper {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Result<void>> begun;
    bool wanted = true;
    Clock::time_point begin;
    std::vector<ThreadRegisters> registers;
    StopCost cost;
    std::atomic<bool> over = false;
    std::thread thread;

    Result<ThreadStop> stop_and_settle(pid_t pid, const std::optional<Settling>& settling) {
        auto stop = ThreadStop::stop(pid);
        if (stop && settling) {
            auto settled = settle(*stop, *settling);
            if (!settled) {
                return std::unexpected(settled.error());
            }
            registers = std::move(*settled);
        }
        return stop;
    }

    void keep(pid_t pid, std::optional<std::chrono::nanoseconds> limit,
              const std::optional<Settling>& settling) {
        // The stopping of the threads, one after the other, counts.
        const auto first = Clock::now();
        auto stop = stop_and_settle(pid, settling);
        std::unique_lock lock(mutex);
        begin = first;
        begun = stop ? Result<void>() : std::unexpected(stop.error());
        changed.notify_all();
        if (!stop) {
            return;
        }
        const auto ended = [this] { return !wanted; };
        if (limit) {
            changed.wait_until(lock, begin + *limit, ended);
        } else {
            changed.wait(lock, ended);
        }
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

Result<TimedStop> TimedStop::begin(pid_t pid, std::optional<std::chrono::nanoseconds> limit,
                                   std::optional<Settling> settling) {
    auto keeper = std::make_unique<Keeper>();
    auto* kept = keeper.get();
    keeper->thread = std::thread(
        [kept, pid, limit, settling = std::move(settling)] { kept->keep(pid, limit, settling); });
    {
        std::unique_lock lock(keeper->mutex);
        keeper->changed.wait(lock, [kept] { return kept->begun.has_value(); });
        if (!*keeper->begun) {
            return std::unexpected(keeper->begun->error());
        }
    }
    return TimedStop(std::move(keeper));
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
