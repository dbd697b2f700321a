#pragma once

#include <libdump/base/error.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace beamdump::capture {

/// Does jobs one after the other in a thread of its own, or, where none can be started, in the
/// caller's.
class ReadingThread {
  public:
    ReadingThread() = default;
    ReadingThread(const ReadingThread&) = delete;
    ReadingThread& operator=(const ReadingThread&) = delete;
    /// Waits for the job under way; the others are not begun.
    ~ReadingThread();

    /// Adds a job; what it uses must stay until wait() has returned its outcome.
    void add(std::function<Result<void>()> job);
    /// Waits for the end of the oldest job that was not waited for; its outcome.
    Result<void> wait();

  private:
    void work();

    std::mutex mutex_;  // of all below
    std::condition_variable changed_;
    std::deque<std::function<Result<void>()>> jobs_;
    std::deque<Result<void>> outcomes_;
    bool stopping_ = false;

    std::thread thread_;  // from the first job on
};

}  // namespace beamdump::capture
