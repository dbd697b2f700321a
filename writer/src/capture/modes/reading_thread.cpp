#include "capture/modes/reading_thread.h"

#include <libdump/base/system_error.h>

#include <new>
#include <system_error>
#include <utility>

namespace beamdump::capture {
namespace {

Result<void> outcome_of(const std::function<Result<void>()>& job) {
    try {
        return job();
    } catch (const std::bad_alloc& failure) {
        return std::unexpected(error_of(failure));
    }
}

}  // namespace

ReadingThread::~ReadingThread() {
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void ReadingThread::add(std::function<Result<void>()> job) {
    if (!thread_.joinable()) {
        try {
            thread_ = std::thread([this] { work(); });
        } catch (const std::system_error&) {
            outcomes_.push_back(outcome_of(job));
            return;
        }
    }
    {
        const std::scoped_lock lock(mutex_);
        jobs_.push_back(std::move(job));
    }
    changed_.notify_all();
}

Result<void> ReadingThread::wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !outcomes_.empty(); });
    auto outcome = std::move(outcomes_.front());
    outcomes_.pop_front();
    return outcome;
}

void ReadingThread::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
        if (stopping_) {
            return;
        }
        const auto job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        auto outcome = outcome_of(job);
        lock.lock();
        outcomes_.push_back(std::move(outcome));
        changed_.notify_all();
    }
}

}  // namespace beamdump::capture
