#include "target/twin_watcher.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>

namespace beamdump::target {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{5};

}  // namespace

TwinWatcher::TwinWatcher(pid_t node, pid_t twin, TwinFloor floor)
    : node_(node), twin_(twin), floor_(std::move(floor)), thread_([this] { watch(); }) {}

TwinWatcher::~TwinWatcher() {
    {
        const std::scoped_lock lock(mutex_);
        wanted_ = false;
    }
    changed_.notify_all();
    thread_.join();
}

Result<void> TwinWatcher::verdict() const {
    const std::scoped_lock lock(mutex_);
    return reason_ ? Result<void>(std::unexpected(*reason_)) : Result<void>();
}

Result<void> TwinWatcher::look() const {
    for (const auto* room : {&floor_.node, &floor_.own}) {
        const auto left = room->memory(floor_.bytes);
        if (!left) {
            return std::unexpected(left.error());
        }
        if (left->amount < floor_.bytes) {
            return fail(
                ErrorCode::kLimit,
                fmt::format("the twin of process {} is given up: {} are left, less than {}: "
                            "{}",
                            node_, in_mebibytes(left->amount), in_mebibytes(floor_.bytes),
                            left->limit));
        }
    }
    return {};
}

void TwinWatcher::watch() {
    std::unique_lock lock(mutex_);
    while (wanted_) {
        lock.unlock();
        auto enough = look();
        lock.lock();
        if (!enough) {
            // First the reason, then the deed: whoever finds the twin dead asks for it.
            reason_ = std::move(enough.error());
            ::kill(twin_, SIGKILL);
            return;
        }
        changed_.wait_for(lock, kBetweenLooks, [this] { return !wanted_; });
    }
}

}  // namespace beamdump::target
