#include <libdump/base/system_error.h>
#include <libvm/target/process/threads.h>

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <new>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <system_error>

namespace beamdump::target {
namespace {

constexpr int kSystemCall = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD

}  // namespace

Result<std::vector<pid_t>> threads_of(pid_t pid) {
    std::vector<pid_t> threads;
    std::error_code error;
    std::filesystem::directory_iterator entry(fmt::format("/proc/{}/task", pid), error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
        const auto name = entry->path().filename().native();
        pid_t thread = 0;
        std::from_chars(name.data(), name.data() + name.size(), thread);
        if (thread > 0) {
            threads.push_back(thread);
        }
    }
    if (threads.empty() && ::kill(pid, 0) != 0 && errno == ESRCH) {
        return fail(ErrorCode::kNotFound, fmt::format("there is no process {}", pid));
    }
    if (error == std::errc::not_enough_memory) {
        return std::unexpected(error_of(std::bad_alloc()));
    }
    if (error == std::errc::no_such_file_or_directory || error == std::errc::no_such_process) {
        return fail(ErrorCode::kTargetDied, fmt::format("process {} has exited", pid));
    }
    if (error) {
        return fail(ErrorCode::kIo, fmt::format("cannot list the threads of process {}: {}", pid,
                                                system_error_text(error.value())));
    }
    return threads;
}

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
