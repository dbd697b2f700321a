#include <libvm/target/process/thread_status.h>

#include <cerrno>
#include <csignal>
#include <sys/ptrace.h>
#include <sys/wait.h>

namespace beamdump::target {
namespace {

constexpr int kSystemCall = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD

}  // namespace

bool ThreadStatus::at_system_call() const {
    return stopped() && event == 0 && signal == kSystemCall;
}

int ThreadStatus::pending_signal() const {
    return stopped() && event == 0 && signal != kSystemCall ? signal : 0;
}

ThreadStatus thread_status(pid_t thread) {
    siginfo_t info{};
    const auto id = static_cast<id_t>(thread);
    if (::waitid(P_PID, id, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) != 0) {
        return {errno == ECHILD ? ThreadStatus::State::kKilled : ThreadStatus::State::kRunning};
    }
    if (info.si_pid == 0) {
        return {};
    }
    if (info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED) {
        return {ThreadStatus::State::kStopped, info.si_status & 0xff, info.si_status >> 8};
    }
    int status = 0;
    ::waitpid(thread, &status, __WALL | WNOHANG);
    return {info.si_code == CLD_EXITED ? ThreadStatus::State::kExited
                                       : ThreadStatus::State::kKilled};
}

bool detach(pid_t thread, const ThreadStatus& look) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): ptrace takes the signal as a pointer.
    auto* const signal = reinterpret_cast<void*>(static_cast<std::intptr_t>(look.pending_signal()));
    return ::ptrace(PTRACE_DETACH, thread, nullptr, signal) == 0;
}

}  // namespace beamdump::target
