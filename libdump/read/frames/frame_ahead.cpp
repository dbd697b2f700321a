#include <libdump/read/frames/frame_ahead.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

namespace beamdump {

std::unique_ptr<FrameAhead> FrameAhead::start(const FileSource& file, const FrameLoader& loader,
                                              const Bounds& bounds) {
    std::unique_ptr<FrameAhead> ahead(new FrameAhead(bounds));
    for (unsigned number = 0; number < bounds.threads; ++number) {
        auto own_file = file.duplicate();
        auto own_loader = loader.another();
        if (!own_file || !own_loader) {
            break;
        }
        ahead->workers_.push_back(std::make_unique<Worker>(
            Worker{*std::move(own_file), *std::move(own_loader), std::thread()}));
        auto& worker = *ahead->workers_.back();
        try {
            worker.thread = std::thread([&ahead = *ahead, &worker] { ahead.work(worker); });
        } catch (const std::system_error&) {
            ahead->workers_.pop_back();
            break;
        }
    }
    return ahead->workers_.empty() ? nullptr : std::move(ahead);
}

FrameAhead::~FrameAhead() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    for (const auto& worker : workers_) {
        worker->thread.join();
    }
}

std::list<FrameAhead::Fetched>::iterator FrameAhead::find(std::size_t position) {
    return std::ranges::find(fetched_, position, &Fetched::position);
}

bool FrameAhead::has(std::size_t position) const {
    const std::lock_guard lock(mutex_);
    return std::ranges::find(fetched_, position, &Fetched::position) != fetched_.end();
}

void FrameAhead::fetch(std::size_t position, const FrameRef& where) {
    {
        const std::lock_guard lock(mutex_);
        const auto bytes = [this] {
            std::size_t sum = 0;
            for (const auto& one : fetched_) {
                sum += one.where.content_bytes;
            }
            return sum;
        };
        while (!fetched_.empty() && (fetched_.size() >= bounds_.frames ||
                                     bytes() + where.content_bytes > bounds_.bytes)) {
            fetched_.pop_front();
        }
        fetched_.push_back({position, where, State::kOrdered, std::nullopt});
    }
    changed_.notify_all();
}

std::optional<Result<std::shared_ptr<const Frame>>> FrameAhead::take(std::size_t position) {
    std::unique_lock lock(mutex_);
    const auto found = find(position);
    if (found == fetched_.end()) {
        return std::nullopt;
    }
    if (found->state == State::kOrdered) {
        // Loading it here is faster than waking a thread.
        fetched_.erase(found);
        return std::nullopt;
    }
    changed_.wait(lock, [&] { return found->state == State::kLoaded; });
    auto frame = std::move(found->frame);
    fetched_.erase(found);
    return frame;
}

ReadStats FrameAhead::stats() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
        return under_way_ == 0 && std::ranges::none_of(fetched_, [](const Fetched& one) {
                   return one.state == State::kOrdered;
               });
    });
    ReadStats all;
    for (const auto& worker : workers_) {
        all.frames_decompressed += worker->loader.decompressed();
        all.file_bytes_read += worker->file.bytes_read();
    }
    return all;
}

void FrameAhead::work(Worker& worker) {
    std::unique_lock lock(mutex_);
    for (;;) {
        auto next = fetched_.end();
        changed_.wait(lock, [&] {
            next = std::ranges::find(fetched_, State::kOrdered, &Fetched::state);
            return stopping_ || next != fetched_.end();
        });
        if (stopping_) {
            return;
        }
        next->state = State::kUnderWay;
        const auto position = next->position;
        const FrameRef where = next->where;
        ++under_way_;
        lock.unlock();
        auto loaded = load(worker, where);
        lock.lock();
        --under_way_;
        // Unless it was dropped meanwhile.
        if (const auto wanted = find(position);
            wanted != fetched_.end() && wanted->state == State::kUnderWay) {
            wanted->frame = std::move(loaded);
            wanted->state = State::kLoaded;
        }
        changed_.notify_all();
    }
}

/// nullopt if memory ran out: the caller loads the frame itself and reports that.
std::optional<FrameAhead::Loaded> FrameAhead::load(Worker& worker, const FrameRef& where) {
    try {
        return worker.loader.load(worker.file, where);
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

}  // namespace beamdump
