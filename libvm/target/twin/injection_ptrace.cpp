#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libvm/target/process/clock.h>
#include <libvm/target/process/threads.h>
#include <libvm/target/stop/ptrace_calls.h>
#include <libvm/target/twin/injection_ptrace.h>
#include <libvm/target/twin/thread_state.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

namespace beamdump::target {
namespace {

constexpr int kMaxStops = 1000;

std::unexpected<Error> not_in_time(pid_t thread) {
    return fail(ErrorCode::kLimit,
                fmt::format("thread {} did not finish a system call in time", thread));
}

/// Waits until a thread stops or ends. Turns of the processor first: most stops come within
/// microseconds, and the whole node waits.
Result<ThreadStatus> await_change(pid_t thread, std::int64_t deadline_ns) {
    // sched_yield() by a thread with real-time priority lets no thread without it run.
    const int turns = ::sched_getscheduler(0) == SCHED_OTHER ? 200 : 0;
    long pause_ns = 10'000;
    for (int turn = 0;; ++turn) {
        const auto look = thread_status(thread);
        if (look.stopped() || look.ended()) {
            return look;
        }
        if (clock_ns(CLOCK_MONOTONIC) > deadline_ns) {
            return not_in_time(thread);
        }
        if (turn < turns) {
            ::sched_yield();
            continue;
        }
        const timespec time{0, pause_ns};
        ::nanosleep(&time, nullptr);
        pause_ns = std::min(pause_ns * 2, 500'000L);
    }
}

/// Resumes a stopped thread with the signal that is on its way to it. Only SIGSTOP can be, where
/// all others are blocked: the node is under it from then on, and the thread can still be resumed.
bool resume(pid_t thread, __ptrace_request request, const ThreadStatus& look) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): ptrace takes the signal as a pointer.
    auto* const signal = reinterpret_cast<void*>(static_cast<std::intptr_t>(look.pending_signal()));
    return ::ptrace(request, thread, nullptr, signal) == 0;
}

}  // namespace

Result<std::uint64_t> signal_mask_of(pid_t thread) {
    std::uint64_t mask = 0;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): ptrace takes the mask's size so.
    auto* const mask_bytes = reinterpret_cast<void*>(sizeof(mask));
    if (::ptrace(PTRACE_GETSIGMASK, thread, mask_bytes, &mask) != 0) {
        return ptrace_failed("read the signal mask", thread, errno);
    }
    return mask;
}

Result<void> follow_clones(pid_t thread) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): ptrace takes the options so.
    auto* const options = reinterpret_cast<void*>(
        static_cast<std::uintptr_t>(PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD));
    if (::ptrace(PTRACE_SETOPTIONS, thread, nullptr, options) != 0) {
        return ptrace_failed("follow the clones", thread, errno);
    }
    return {};
}

Result<void> set_running_point(pid_t thread, const HostRegisters& registers) {
    // The registers first: the frames that they lead to restore the mask, if we die in between.
    RETURN_IF_ERROR(write_registers(thread, registers));
    // NOLINTNEXTLINE(performance-no-int-to-ptr): ptrace takes the mask's size so.
    auto* const mask_bytes = reinterpret_cast<void*>(sizeof(kAllSignals));
    if (::ptrace(PTRACE_SETSIGMASK, thread, mask_bytes, &kAllSignals) != 0) {
        return ptrace_failed("set the signal mask", thread, errno);
    }
    return {};
}

Result<pid_t> run_to_clone(pid_t thread, Watch watch, std::int64_t deadline_ns) {
    const auto request = watch == Watch::kEachCall ? PTRACE_SYSCALL : PTRACE_CONT;
    ThreadStatus look;
    for (int stops = 0; stops < kMaxStops; ++stops) {
        if (clock_ns(CLOCK_MONOTONIC) > deadline_ns) {
            return not_in_time(thread);
        }
        if (!resume(thread, request, look)) {
            return ptrace_failed("continue the run", thread, errno);
        }
        ASSIGN_OR_RETURN(const auto changed, await_change(thread, deadline_ns));
        look = changed;
        if (look.state == ThreadStatus::State::kExited) {
            return fail(
                ErrorCode::kLimit,
                "the kernel refuses to make a twin of the node: it cannot commit the memory, or "
                "too many processes run (see the limits of the node's user and cgroup)");
        }
        if (look.ended()) {
            return fail(ErrorCode::kTargetDied, fmt::format("thread {} was killed", thread));
        }
        if (look.event == PTRACE_EVENT_CLONE) {
            unsigned long made = 0;
            if (::ptrace(PTRACE_GETEVENTMSG, thread, nullptr, &made) != 0) {
                return ptrace_failed("read the event", thread, errno);
            }
            return static_cast<pid_t>(made);
        }
        if (!look.at_system_call()) {
            continue;
        }
        ASSIGN_OR_RETURN(const auto registers, read_registers(thread));
        const auto result = result_of(registers, SYS_clone);
        if (result && *result < 0 && !begins_anew(*result)) {
            return fail(ErrorCode::kLimit,
                        fmt::format("the kernel refuses to start a thread in the node: {} (see the "
                                    "process limits of its user and cgroup)",
                                    system_error_text(static_cast<int>(-*result))));
        }
    }
    return fail(ErrorCode::kImplausible,
                fmt::format("thread {} was stopped {} times without making a thread or process",
                            thread, kMaxStops));
}

Result<void> run_through_call(pid_t thread, long call, std::int64_t deadline_ns) {
    ThreadStatus look;
    for (int stops = 0; stops < kMaxStops; ++stops) {
        if (!resume(thread, PTRACE_SYSCALL, look)) {
            return ptrace_failed("continue the run", thread, errno);
        }
        ASSIGN_OR_RETURN(const auto changed, await_change(thread, deadline_ns));
        look = changed;
        if (look.ended()) {
            return fail(ErrorCode::kTargetDied, fmt::format("thread {} was killed", thread));
        }
        if (!look.at_system_call()) {
            continue;
        }
        ASSIGN_OR_RETURN(const auto registers, read_registers(thread));
        if (result_of(registers, call)) {
            return {};
        }
    }
    return fail(ErrorCode::kImplausible, fmt::format("thread {} was stopped {} times on its way "
                                                     "through system call {}",
                                                     thread, kMaxStops, call));
}

Result<void> await_start(pid_t thread, std::int64_t deadline_ns) {
    ASSIGN_OR_RETURN(const auto look, await_change(thread, deadline_ns));
    if (!look.stopped()) {
        return fail(ErrorCode::kTargetDied, fmt::format("thread {} was killed", thread));
    }
    return {};
}

}  // namespace beamdump::target
