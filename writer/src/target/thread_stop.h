#pragma once

#include <libdump/base/error.h>

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace beamdump::target {

struct StopCost {
    std::int64_t begin_monotonic_ns = 0;
    std::int64_t length_ns = 0;  ///< from the first thread's stop to the last one's resumption
    std::uint32_t threads = 0;
};

/// All threads of a process, stopped with PTRACE_SEIZE and PTRACE_INTERRUPT; resumed by resume() or
/// the destructor, and by the kernel if we die. Must be made, resumed and destroyed on one thread.
/// Signals that arrive meanwhile are delivered on resumption; a group-stop (SIGSTOP) that the
/// target was in stays as it was.
class ThreadStop {
  public:
    /// Stops every thread, those made meanwhile too. On failure all are resumed.
    static Result<ThreadStop> stop(pid_t pid);
    ThreadStop(ThreadStop&& other) noexcept;
    ThreadStop& operator=(ThreadStop&&) = delete;
    ThreadStop(const ThreadStop&) = delete;
    ~ThreadStop();

    /// Lets all threads go; gives what the stop cost. Safe to call once; later calls do nothing.
    StopCost resume();

    [[nodiscard]] const std::vector<pid_t>& threads() const { return threads_; }

  private:
    explicit ThreadStop(pid_t pid) : pid_(pid) {}
    pid_t pid_ = 0;
    std::vector<pid_t> threads_;
    std::int64_t begin_ns_ = 0;
    bool stopped_ = false;
};

}  // namespace beamdump::target
