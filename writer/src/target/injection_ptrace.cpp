#include "target/injection_ptrace.h"

#include "target/clock.h"

#include <libdump/base/bytes.h>
#include <libdump/base/system_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <elf.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

namespace beamdump::target {
namespace {

constexpr std::size_t kMostXsaveBytes = std::size_t{64} << 10U;
// Of a process with a terabyte: a fork takes some tens of milliseconds a gigabyte.
constexpr std::int64_t kCloneDeadlineNs = 120'000'000'000;
constexpr int kMostStops = 1000;

std::unexpected<Error> ptrace_failed(const char* doing, pid_t thread, int error) {
    if (error == ESRCH) {
        return fail(ErrorCode::kTargetDied, fmt::format("thread {} has ended", thread));
    }
    return fail(ErrorCode::kIo,
                fmt::format("cannot {} of thread {}: {}", doing, thread, system_error_text(error)));
}

/// Waits until a thread stops or ends and gives its wait status. Turns of the processor first: most
/// stops come within microseconds, and the whole node waits.
Result<int> await_change(pid_t thread) {
    const auto begin = clock_ns(CLOCK_MONOTONIC);
    long pause_ns = 10'000;
    for (int turn = 0;; ++turn) {
        int status = 0;
        const pid_t got = ::waitpid(thread, &status, __WALL | WNOHANG);
        if (got == thread) {
            return status;
        }
        if (got < 0 && errno != EINTR) {
            return fail(ErrorCode::kTargetDied, fmt::format("thread {} has ended", thread));
        }
        constexpr int kTurns = 200;
        if (turn < kTurns) {
            ::sched_yield();
            continue;
        }
        if (clock_ns(CLOCK_MONOTONIC) - begin > kCloneDeadlineNs) {
            return fail(
                ErrorCode::kLimit,
                fmt::format("thread {} has been in one system call for {} seconds: it hangs "
                            "in the kernel",
                            thread, kCloneDeadlineNs / 1'000'000'000));
        }
        const timespec time{0, pause_ns};
        ::nanosleep(&time, nullptr);
        pause_ns = std::min(pause_ns * 2, 500'000L);
    }
}

int event_of(int status) {
    return status >> 16;
}

bool at_system_call(int status) {
    return WSTOPSIG(status) == (SIGTRAP | 0x80);
}

}  // namespace

Result<user_regs_struct> read_registers(pid_t thread) {
    user_regs_struct registers{};
    if (::ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0) {
        return ptrace_failed("read the registers", thread, errno);
    }
    return registers;
}

Result<ThreadState> read_thread_state(pid_t thread) {
    const auto registers = read_registers(thread);
    if (!registers) {
        return std::unexpected(registers.error());
    }
    ThreadState state;
    state.registers = *registers;
    std::vector<std::byte> xsave(kMostXsaveBytes);
    iovec room{xsave.data(), xsave.size()};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): ptrace takes the register set's number so.
    auto* const kind = reinterpret_cast<void*>(static_cast<std::uintptr_t>(NT_X86_XSTATE));
    if (::ptrace(PTRACE_GETREGSET, thread, kind, &room) != 0) {
        return ptrace_failed("read the extended registers", thread, errno);
    }
    xsave.resize(room.iov_len);
    auto extended = xsave_for_frame(xsave, xsave_shape(xsave_features(xsave)));
    if (!extended) {
        return std::unexpected(extended.error());
    }
    state.extended = std::move(*extended);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): ptrace takes the mask's size so.
    auto* const mask_bytes = reinterpret_cast<void*>(sizeof(state.signal_mask));
    if (::ptrace(PTRACE_GETSIGMASK, thread, mask_bytes, &state.signal_mask) != 0) {
        return ptrace_failed("read the signal mask", thread, errno);
    }
    return state;
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

Result<void> set_running_point(pid_t thread, const user_regs_struct& registers) {
    // The registers first: the frames that they lead to restore the mask, if we die in between.
    if (::ptrace(PTRACE_SETREGS, thread, nullptr, &registers) != 0) {
        return ptrace_failed("set the registers", thread, errno);
    }
    // NOLINTNEXTLINE(performance-no-int-to-ptr): ptrace takes the mask's size so.
    auto* const mask_bytes = reinterpret_cast<void*>(sizeof(kAllSignals));
    if (::ptrace(PTRACE_SETSIGMASK, thread, mask_bytes, &kAllSignals) != 0) {
        return ptrace_failed("set the signal mask", thread, errno);
    }
    return {};
}

Result<pid_t> run_to_clone(pid_t thread, Watch watch) {
    const auto request = watch == Watch::kEachCall ? PTRACE_SYSCALL : PTRACE_CONT;
    for (int stops = 0; stops < kMostStops; ++stops) {
        if (::ptrace(request, thread, nullptr, nullptr) != 0) {
            return ptrace_failed("continue the run", thread, errno);
        }
        const auto status = await_change(thread);
        if (!status) {
            return std::unexpected(status.error());
        }
        if (WIFEXITED(*status)) {
            return fail(ErrorCode::kLimit,
                        "the kernel refuses to make a twin of the node: too little memory can be "
                        "promised, or too many processes run (look at the limits of the node's "
                        "user and cgroup)");
        }
        if (!WIFSTOPPED(*status)) {
            return fail(ErrorCode::kTargetDied, fmt::format("thread {} was killed", thread));
        }
        if (event_of(*status) == PTRACE_EVENT_CLONE) {
            unsigned long made = 0;
            if (::ptrace(PTRACE_GETEVENTMSG, thread, nullptr, &made) != 0) {
                return ptrace_failed("read the event", thread, errno);
            }
            return static_cast<pid_t>(made);
        }
        if (!at_system_call(*status)) {
            continue;  // a SIGSTOP sent meanwhile: it counts when we let go
        }
        const auto registers = read_registers(thread);
        if (!registers) {
            return std::unexpected(registers.error());
        }
        const auto result = static_cast<std::int64_t>(registers->rax);
        if (registers->orig_rax == SYS_clone && result < 0 && result != -ENOSYS) {
            return fail(ErrorCode::kLimit,
                        fmt::format("the kernel refuses to make a thread in the node: {} (look at "
                                    "the limits on processes of its user and cgroup)",
                                    system_error_text(static_cast<int>(-result))));
        }
    }
    return fail(ErrorCode::kImplausible,
                fmt::format("thread {} was stopped {} times without making a thread or process",
                            thread, kMostStops));
}

Result<void> await_birth(pid_t thread) {
    const auto status = await_change(thread);
    if (!status) {
        return std::unexpected(status.error());
    }
    if (!WIFSTOPPED(*status)) {
        return fail(ErrorCode::kTargetDied, fmt::format("thread {} was killed", thread));
    }
    return {};
}

}  // namespace beamdump::target
