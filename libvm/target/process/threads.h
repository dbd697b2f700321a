#pragma once

#include <libdump/base/error.h>

#include <array>
#include <cstdint>
#include <sys/types.h>
#include <sys/user.h>
#include <vector>

namespace beamdump::target {

/// The threads of a process as /proc lists them. kNotFound, kTargetDied: it is gone; kLimit: not
/// enough memory to list them; kIo.
Result<std::vector<pid_t>> threads_of(pid_t pid);

/// The state of a traced thread.
struct ThreadStatus {
    enum class State : std::uint8_t { kRunning, kStopped, kExited, kKilled };
    State state = State::kRunning;
    int signal = 0;  ///< why it stopped, as WSTOPSIG
    int event = 0;   ///< PTRACE_EVENT_*; 0: none

    [[nodiscard]] bool stopped() const { return state == State::kStopped; }
    [[nodiscard]] bool ended() const { return state == State::kExited || state == State::kKilled; }
    [[nodiscard]] bool at_system_call() const;
    /// The signal that the thread is about to handle, which must be delivered when it is resumed; 0
    /// if it is stopped for another reason.
    [[nodiscard]] int pending_signal() const;
};

/// Checks once, without waiting. A stop is not consumed: a thread that is about to handle a signal
/// still does so if this process dies first. waitpid() would lose that signal, since the kernel
/// drops the reason of a consumed stop. A thread that has exited is reaped.
ThreadStatus thread_status(pid_t thread);

/// Detaches a stopped thread with its pending signal. False: it was killed.
bool detach(pid_t thread, const ThreadStatus& look);

/// A stopped thread's registers: where its code and stack are, and those in which the emulator
/// keeps what it runs (x86-64; who keeps what there is the emulator's own affair).
struct ThreadRegisters {
    pid_t thread = 0;
    std::uint64_t rip = 0;
    std::uint64_t rsp = 0;
    std::uint64_t rbx = 0;
    std::uint64_t rbp = 0;
    std::uint64_t r12 = 0;
    std::uint64_t r13 = 0;
    std::uint64_t r14 = 0;
    std::uint64_t r15 = 0;
    /// The number of the system call that it is in; negative: it is in none.
    std::int64_t system_call = -1;
    /// All general registers, those above among them.
    std::array<std::uint64_t, 16> general{};
    /// The lower and upper half of each SSE register; zeros where they were not read.
    std::array<std::array<std::uint64_t, 2>, 16> vectors{};
    /// Where the C library describes the thread (the base of the segment fs).
    std::uint64_t thread_pointer = 0;

    [[nodiscard]] bool in_system_call() const { return system_call >= 0; }
};

/// Made of what the kernel gives (ptrace(2), NT_PRSTATUS): outside of a system call it sets
/// orig_rax to a negative number.
inline ThreadRegisters thread_registers(pid_t thread, const user_regs_struct& all) {
    return {thread,
            all.rip,
            all.rsp,
            all.rbx,
            all.rbp,
            all.r12,
            all.r13,
            all.r14,
            all.r15,
            static_cast<std::int64_t>(all.orig_rax),
            {all.rax, all.rbx, all.rcx, all.rdx, all.rsi, all.rdi, all.rbp, all.rsp, all.r8, all.r9,
             all.r10, all.r11, all.r12, all.r13, all.r14, all.r15},
            {},
            all.fs_base};
}

}  // namespace beamdump::target
