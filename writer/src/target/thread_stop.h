#pragma once

#include <libdump/base/error.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <sys/types.h>
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
    /// Stops every thread, those made meanwhile too. On failure all are resumed. kPermission;
    /// kNotFound; kTargetDied; kLimit: a thread did not stop within two seconds (it hangs in the
    /// kernel) or new ones kept coming. A thread that hangs is left seized and would stop when it
    /// wakes, until this process ends: end it soon after that error.
    static Result<ThreadStop> stop(pid_t pid);
    ThreadStop(ThreadStop&& other) noexcept;
    ThreadStop& operator=(ThreadStop&&) = delete;
    ThreadStop(const ThreadStop&) = delete;
    ~ThreadStop();

    /// Lets all threads go; gives what the stop cost. Safe to call once; later calls do nothing.
    StopCost resume();

    [[nodiscard]] const std::vector<pid_t>& threads() const { return threads_; }
    /// Whether a thread is one of those stopped and was not on its way to handling a signal.
    [[nodiscard]] bool at_rest(pid_t thread) const;

    /// Lets some of the threads run on for a moment and stops them again, with those that they made
    /// meanwhile. Left alone are those not at_rest(), and all if the process is under SIGSTOP.
    /// Errors as stop().
    Result<void> run_on(std::span<const pid_t> threads, std::chrono::nanoseconds moment);

  private:
    struct State {
        bool stopped = false;
        bool ended = false;
        int signal = 0;      ///< to be delivered on resumption; 0: none
        bool group = false;  ///< stopped by SIGSTOP or its like before we came
    };

    explicit ThreadStop(pid_t pid) : pid_(pid) {}
    Result<void> stop_all();
    Result<void> seize_threads();
    Result<void> await_stops();
    void look_at(std::size_t index);
    [[nodiscard]] std::size_t index_of(pid_t thread) const;
    void forget_if(const std::function<bool(std::size_t)>& done);
    void detach_all();

    pid_t pid_ = 0;
    std::vector<pid_t> threads_;
    std::vector<State> states_;  // of the thread at the same index
    std::int64_t begin_ns_ = 0;
    bool stopped_ = false;
};

}  // namespace beamdump::target
