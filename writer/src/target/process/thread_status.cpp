#include "target/process/thread_status.h"

#include <cerrno>
#include <csignal>
#include <sys/ptrace.h>
#include <sys/wait.h>

namespace beamdump::target {
namespace {

constexpr int kSystemCall = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD

}  // namespace

bool ThreadLook::at_system_call() const {
    return stopped() && event == 0 && signal == kSystemCall;
}

int ThreadLook::on_its_way() const {
    return stopped() && event == 0 && signal != kSystemCall ? signal : 0;
}

ThreadLook look_at_thread(pid_t thread) {
    siginfo_t told{};
    const auto id = static_cast<id_t>(thread);
    if (::waitid(P_PID, id, &told, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) != 0) {
        return {errno == ECHILD ? ThreadLook::Is::kKilled : ThreadLook::Is::kRunning};
    }
    if (told.si_pid == 0) {
        return {};
    }
    if (told.si_code == CLD_TRAPPED || told.si_code == CLD_STOPPED) {
        return {ThreadLook::Is::kStopped, told.si_status & 0xff, told.si_status >> 8};
    }
    int status = 0;
    ::waitpid(thread, &status, __WALL | WNOHANG);
    return {told.si_code == CLD_EXITED ? ThreadLook::Is::kExited : ThreadLook::Is::kKilled};
}

bool detach(pid_t thread, const ThreadLook& look) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): ptrace takes the signal as a pointer.
    auto* const signal = reinterpret_cast<void*>(static_cast<std::intptr_t>(look.on_its_way()));
    return ::ptrace(PTRACE_DETACH, thread, nullptr, signal) == 0;
}

}  // namespace beamdump::target
