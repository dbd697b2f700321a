#pragma once

#include <cstdint>
#include <sys/types.h>

namespace beamdump::target {

/// What a look at a thread that we trace has shown.
struct ThreadStatus {
    enum class State : std::uint8_t { kRunning, kStopped, kExited, kKilled };
    State state = State::kRunning;
    int signal = 0;  ///< why it stopped, as WSTOPSIG
    int event = 0;   ///< PTRACE_EVENT_*; 0: none

    [[nodiscard]] bool stopped() const { return state == State::kStopped; }
    [[nodiscard]] bool ended() const { return state == State::kExited || state == State::kKilled; }
    [[nodiscard]] bool at_system_call() const;
    /// The signal that the thread is about to handle, which is to be passed on to it when it is let
    /// go; 0 where it stands for another reason.
    [[nodiscard]] int pending_signal() const;
};

/// Looks once, without waiting. A stop is not consumed: a thread that is about to handle a signal
/// still does so if we die before we let it go. With waitpid() that signal would be lost then: the
/// kernel forgets the reason of a stop once it is consumed. A thread that has ended is reaped.
ThreadStatus thread_status(pid_t thread);

/// Lets a stopped thread go for good, with the signal that is on its way to it. False: it was
/// killed meanwhile.
bool detach(pid_t thread, const ThreadStatus& look);

}  // namespace beamdump::target
