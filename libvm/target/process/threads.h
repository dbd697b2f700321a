#pragma once

#include <libdump/base/error.h>
#include <libvm/arch/common/registers.h>

#include <cstdint>
#include <sys/types.h>
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

using arch::ThreadRegisters;

}  // namespace beamdump::target
