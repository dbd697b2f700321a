#include "read/frames/frame_ahead.h"

#include <exception>
#include <system_error>
#include <utility>

namespace beamdump {

std::unique_ptr<FrameAhead> FrameAhead::start(FileSource file, FrameLoader loader) {
    std::unique_ptr<FrameAhead> ahead(new FrameAhead(std::move(file), std::move(loader)));
    try {
        ahead->thread_ = std::thread([self = ahead.get()] { self->work(); });
    } catch (const std::system_error&) {
        return nullptr;
    }
    return ahead;
}

FrameAhead::~FrameAhead() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void FrameAhead::fetch(std::size_t position, const FrameRef& where) {
    {
        const std::lock_guard lock(mutex_);
        fetched_.reset();
        order_ = Order{position, where};
    }
    changed_.notify_all();
}

std::optional<Result<std::shared_ptr<const Frame>>> FrameAhead::take(std::size_t position) {
    std::unique_lock lock(mutex_);
    if (order_ && order_->position == position) {
        // Loading it here is faster than waking the thread.
        order_.reset();
    }
    changed_.wait(lock, [&] { return under_way_ != position; });
    if (!fetched_ || fetched_->position != position) {
        return std::nullopt;
    }
    auto frame = std::move(fetched_->frame);
    fetched_.reset();
    return frame;
}

ReadStats FrameAhead::stats() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !order_ && !under_way_; });
    return {.frames_decompressed = loader_.decompressed(), .file_bytes_read = file_.bytes_read()};
}

void FrameAhead::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return stopping_ || order_; });
        if (stopping_) {
            return;
        }
        const Order order = *std::exchange(order_, std::nullopt);
        under_way_ = order.position;
        lock.unlock();
        auto loaded = load(order);
        lock.lock();
        under_way_.reset();
        // Another frame has been requested meanwhile: drop this one.
        if (!order_) {
            fetched_ = std::move(loaded);
        }
        changed_.notify_all();
    }
}

/// nullopt if memory ran out: the caller loads the frame itself and reports that.
std::optional<FrameAhead::Fetched> FrameAhead::load(const Order& order) {
    try {
        return Fetched{order.position, loader_.load(file_, order.where)};
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

}  // namespace beamdump
