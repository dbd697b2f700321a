// kill_at_syscall N COMMAND...: runs COMMAND and kills it at the Nth point at which it enters or
// leaves a system call, counted from its first ptrace call. Calls that only wait are not counted.
// Prints one JSON object.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

int run_traced(char** command) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::execvp(command[0], command);
    std::perror("kill_at_syscall: cannot run the command");
    return 127;
}

bool only_waits(unsigned long call) {
    return call == SYS_sched_yield || call == SYS_clock_nanosleep || call == SYS_nanosleep;
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 3) {
        std::fputs("usage: kill_at_syscall N COMMAND...\n", stderr);
        return 2;
    }
    const long wanted = std::strtol(arguments[1], nullptr, 10);
    const pid_t child = ::fork();
    if (child == 0) {
        return run_traced(arguments + 2);
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
        std::perror("kill_at_syscall: cannot start the command");
        return 1;
    }
    ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    long points = 0;
    bool counting = false;
    int signal = 0;
    while (::ptrace(PTRACE_SYSCALL, child, nullptr, signal) == 0 &&
           ::waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        signal = WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status);
        if (signal != 0) {
            continue;
        }
        user_regs_struct registers{};
        ::ptrace(PTRACE_GETREGS, child, nullptr, &registers);
        counting = counting || registers.orig_rax == SYS_ptrace;
        if (!counting || only_waits(registers.orig_rax)) {
            continue;
        }
        if (++points == wanted) {
            ::kill(child, SIGKILL);
            ::waitpid(child, &status, 0);
            fmt::print(
                "{{\"points\":{},\"killed\":true,\"call\":{},\"argument\":{},\"result\":{}}}\n",
                points, registers.orig_rax, registers.rdi, static_cast<long>(registers.rax));
            return 0;
        }
    }
    fmt::print("{{\"points\":{},\"killed\":false,\"status\":{}}}\n", points,
               WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
}
