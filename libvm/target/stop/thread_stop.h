#pragma once

#include <libdump/base/error.h>
#include <libvm/target/process/threads.h>
#include <libvm/target/stop/stop_tracker.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <sys/types.h>
#include <vector>

namespace beamdump::target {

/// By when all threads must stand where nothing else limits a stop.
inline constexpr std::chrono::milliseconds kStandWithin{100};

/// By when all threads must stand in a stop that may last so long: where they take half of it, too
/// little is left to do anything in it, and so another attempt fits into the rest.
constexpr std::chrono::nanoseconds stand_within(std::chrono::nanoseconds longest) {
    return std::min<std::chrono::nanoseconds>(kStandWithin, longest / 2);
}

/// How a stop is bounded, and who is notified of it.
struct StopTerms {
    /// By when all threads must stand, since the call.
    std::chrono::nanoseconds within = kStandWithin;
    /// By when those that were let run on (run_on()) must stand again, since the call.
    std::chrono::nanoseconds again_within = within;
    /// How long the node will be held at the longest, since the call. May be extended.
    std::chrono::nanoseconds lasts = within;
    /// These threads alone, as far as there are still such; empty: all.
    std::vector<pid_t> only = {};
    /// Non-owning; null: nobody.
    StopTracker* stops = nullptr;
};

/// All threads of a process, stopped with PTRACE_SEIZE and PTRACE_INTERRUPT; resumed by resume() or
/// the destructor, and by the kernel if the thread that stopped them ends. Must be made, resumed
/// and destroyed on one thread. Signals that arrive meanwhile are delivered on resumption; a
/// group-stop (SIGSTOP) that the target was in stays as it was.
class ThreadStop {
  public:
    /// Stops every thread, those made meanwhile too, or those of StopTerms::only. On failure all
    /// that stand are resumed. kPermission; kNotFound; kTargetDied; kLimit: a thread did not stop
    /// in time (it is in uninterruptible sleep) or new ones kept coming. Only a stopped thread can
    /// be let go, so those that were not are left to the kernel: after an error the calling thread
    /// has to end at once.
    static Result<ThreadStop> stop(pid_t pid, const StopTerms& terms = {});
    ThreadStop(ThreadStop&& other) noexcept;
    ThreadStop& operator=(ThreadStop&&) = delete;
    ThreadStop(const ThreadStop&) = delete;
    ~ThreadStop();

    /// Lets all threads go after an error of theirs, and says in it what the attempt cost.
    std::unexpected<Error> give_up(Error error);
    /// Called for each thread, which stands, right before it is let go.
    using BeforeRelease = std::function<void(pid_t, const ThreadStatus&)>;
    /// Lets all threads go; gives what the stop cost: it ends when all that stood run. With
    /// `before` some may have been made to run and stop since. Safe to call once; later calls do
    /// nothing.
    StopCost resume(const BeforeRelease& before = {});

    [[nodiscard]] const std::vector<pid_t>& threads() const { return threads_; }
    /// Whether a thread is one of those stopped and was not on its way to handling a signal.
    [[nodiscard]] bool at_rest(pid_t thread) const;

    /// Lets some of the threads run on for a moment and stops them again. Left alone are those not
    /// at_rest(), and all if the process is under SIGSTOP. Threads that they made meanwhile run
    /// until stop_new(). Errors as stop().
    Result<void> run_on(std::span<const pid_t> threads, std::chrono::nanoseconds moment);
    /// Stops the threads that those which ran on have made. Errors as stop().
    Result<void> stop_new();

  private:
    struct State {
        bool stopped = false;
        bool ended = false;
        ThreadStatus look{};  ///< in which stop it stands
        bool group = false;   ///< stopped by SIGSTOP or its like before we came
    };

    ThreadStop(pid_t pid, const StopTerms& terms);
    Result<void> stop_all();
    Result<void> seize_threads();
    Result<void> await_stops();
    void look_at(std::size_t index);
    [[nodiscard]] std::size_t index_of(pid_t thread) const;
    void forget_if(const std::function<bool(std::size_t)>& done);
    [[nodiscard]] Error hangs(pid_t thread) const;
    std::int64_t detach_all(const BeforeRelease& before);

    pid_t pid_ = 0;
    StopTerms terms_;
    std::int64_t deadline_ns_ = 0;
    std::vector<pid_t> threads_;
    std::vector<State> states_;  // of the thread at the same index
    std::int64_t begin_ns_ = 0;
    bool stopped_ = false;
    bool complete_ = false;
};

/// Whether a thread of the process is in uninterruptible sleep at this moment: it would not stop.
bool has_hanging_thread(pid_t pid);

}  // namespace beamdump::target
