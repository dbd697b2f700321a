#pragma once

#include <libdump/base/error.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace beamdump::target {

/// A thread that traces: what it has stopped or seized, only it can let go. When it ends, the
/// kernel lets go of all of it, of threads in uninterruptible sleep too, which nothing else does.
class TracerThread {
  public:
    /// kLimit: no thread can be made.
    static Result<std::unique_ptr<TracerThread>> start();
    TracerThread(const TracerThread&) = delete;
    TracerThread& operator=(const TracerThread&) = delete;
    ~TracerThread();

    /// Has that thread call `work`, and waits for it.
    void run(const std::function<void()>& work);

  private:
    TracerThread();
    void serve();

    std::mutex mutex_;
    std::condition_variable changed_;
    const std::function<void()>* work_ = nullptr;
    bool wanted_ = true;
    std::thread thread_;
};

}  // namespace beamdump::target
