#include <libdump/base/return_if_error.h>
#include <libvm/target/stop/stop_tracker.h>

#include <csignal>
#include <unistd.h>

namespace beamdump::target {

Result<void> StopTracker::begin(std::int64_t deadline_ns) {
    std::unique_lock lock(mutex_);
    if (refusal_) {
        return std::unexpected(*refusal_);
    }
    changed_.wait(lock, [this] { return !held_ && !kept_off_; });
    if (guardian_ != nullptr) {
        RETURN_IF_ERROR(guardian_->begin(deadline_ns));
    }
    held_ = true;
    return {};
}

void StopTracker::extend(std::int64_t deadline_ns) {
    if (guardian_ != nullptr) {
        guardian_->extend(deadline_ns);
    }
}

bool StopTracker::interrupted() const {
    return guardian_ != nullptr && guardian_->woken();
}

void StopTracker::add(const StopCost& cost) {
    if (cost.length_ns > 0) {
        const std::scoped_lock lock(mutex_);
        costs_.push_back(cost);
    }
}

void StopTracker::end() {
    const std::scoped_lock lock(mutex_);
    held_ = false;
    changed_.notify_all();
    if (guardian_ == nullptr) {
        return;
    }
    guardian_->end();
    if (guardian_->consume_woken()) {
        ::kill(::getpid(), SIGSTOP);
    }
}

std::vector<StopCost> StopTracker::costs() const {
    const std::scoped_lock lock(mutex_);
    return costs_;
}

void StopTracker::if_free(const std::function<void()>& action) {
    const std::scoped_lock lock(mutex_);
    if (!held_ && !kept_off_) {
        action();
    }
}

void StopTracker::between(const std::function<void()>& action) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !kept_off_; });
    kept_off_ = true;
    changed_.wait(lock, [this] { return !held_; });
    lock.unlock();
    action();
    lock.lock();
    kept_off_ = false;
    changed_.notify_all();
}

}  // namespace beamdump::target
