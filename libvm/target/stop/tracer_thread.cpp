#include <libdump/base/system_error.h>
#include <libvm/target/stop/tracer_thread.h>

#include <system_error>

namespace beamdump::target {

TracerThread::TracerThread() : thread_([this] { serve(); }) {}

Result<std::unique_ptr<TracerThread>> TracerThread::start() {
    try {
        return std::unique_ptr<TracerThread>(new TracerThread());
    } catch (const std::system_error& failure) {
        return std::unexpected(error_of(failure));
    }
}

TracerThread::~TracerThread() {
    {
        const std::scoped_lock lock(mutex_);
        wanted_ = false;
    }
    changed_.notify_all();
    thread_.join();
}

void TracerThread::run(const std::function<void()>& work) {
    std::unique_lock lock(mutex_);
    work_ = &work;
    changed_.notify_all();
    changed_.wait(lock, [this] { return work_ == nullptr; });
}

void TracerThread::serve() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return work_ != nullptr || !wanted_; });
        if (work_ == nullptr) {
            return;
        }
        (*work_)();
        work_ = nullptr;
        changed_.notify_all();
    }
}

}  // namespace beamdump::target
