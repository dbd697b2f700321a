#include <libdump/format/node_signals.h>

#include <array>
#include <cstddef>

namespace beamdump::format::signals {
namespace {

/// From 1 on.
constexpr std::array<std::string_view, 31> kNames = {
    "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGBUS",  "SIGFPE",
    "SIGKILL", "SIGUSR1",   "SIGSEGV", "SIGUSR2",  "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT",
    "SIGCHLD", "SIGCONT",   "SIGSTOP", "SIGTSTP",  "SIGTTIN", "SIGTTOU", "SIGURG",  "SIGXCPU",
    "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGPOLL", "SIGPWR",  "SIGSYS"};

}  // namespace

std::optional<std::string_view> name_of(int signal) {
    if (signal < 1 || static_cast<std::size_t>(signal) > kNames.size()) {
        return std::nullopt;
    }
    return kNames.at(static_cast<std::size_t>(signal) - 1);
}

}  // namespace beamdump::format::signals
