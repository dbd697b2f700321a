#include "cli/pager.h"

#include <libdump/base/system/own_program.h>

#include <fmt/format.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

namespace beamdump::cli {

namespace {

/// The command that the user wants as pager; empty: none.
std::vector<std::string> wanted_pager() {
    for (const char* name : {"BEAMDUMP_PAGER", "PAGER"}) {
        if (const char* value = std::getenv(name); value != nullptr) {
            const std::string_view command = value;
            if (command.empty() || command == "cat") {
                return {};
            }
            return {"/bin/sh", "-c", value};
        }
    }
    return {"less"};
}

/// This process's environment, with git's settings of less and lv where the user has none: less
/// ends at once if the text fits on the screen, leaves it there, and passes colours on.
std::vector<std::string> pager_environment() {
    std::vector<std::string> variables;
    for (char** one = system::environment(); *one != nullptr; ++one) {
        variables.emplace_back(*one);
    }
    if (std::getenv("LESS") == nullptr) {
        variables.emplace_back("LESS=FRX");
    }
    if (std::getenv("LV") == nullptr) {
        variables.emplace_back("LV=-c");
    }
    return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    all.reserve(texts.size() + 1);
    for (auto& text : texts) {
        all.push_back(text.data());
    }
    all.push_back(nullptr);
    return all;
}

/// Starts a command that reads `input`; -1 if it cannot be started.
pid_t spawn(std::vector<std::string> command, int input) {
    // What this program ignores would stay ignored.
    sigset_t defaults;
    sigemptyset(&defaults);
    for (const int number : {SIGPIPE, SIGXFSZ, SIGINT}) {
        sigaddset(&defaults, number);
    }
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setsigdefault(&attributes, &defaults);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    auto environment = pager_environment();
    pid_t started = -1;
    const int failed = ::posix_spawnp(&started, command.front().c_str(), &actions, &attributes,
                                      pointers(command).data(), pointers(environment).data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    return failed == 0 ? started : -1;
}

}  // namespace

void PagedOutput::allow_pager() {
    if (is_terminal()) {
        command_ = wanted_pager();
    }
}

/// False: without a pager, as it cannot be started.
bool PagedOutput::start() {
    const bool takes_errors = ::isatty(STDERR_FILENO) == 1;
    // What shows progress there would stay above the answer.
    if (takes_errors && !render::write_all(STDERR_FILENO, "standard error", "\r\x1b[K")) {
        return false;
    }
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) {
        return false;
    }
    const Descriptor input(ends[0]);
    Descriptor output(ends[1]);
    for (const int end : ends) {
        ::fcntl(end, F_SETFD, FD_CLOEXEC);
    }
    pager_ = spawn(command_, input.get());
    if (pager_ < 0) {
        return false;
    }
    pipe_ = std::move(output);
    // Ctrl-C is for the pager: less then stops reading.
    std::signal(SIGINT, SIG_IGN);
    if (takes_errors) {
        errors_ = Descriptor(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
        ::dup2(pipe_.get(), STDERR_FILENO);
    }
    waiting_ = std::thread([this] { wait_for_pager(); });
    return true;
}

void PagedOutput::wait_for_pager() {
    while (::waitpid(pager_, &pager_status_, 0) < 0 && errno == EINTR) {
    }
    if (!finishing_ && pager_ran()) {
        // The user has left: nobody reads the rest, which may take long to compute. As if the next
        // write had failed with EPIPE.
        ::_exit(0);
    }
}

Result<void> PagedOutput::pager_ran() const {
    constexpr int kNotExecutable = 126;  // of a shell
    constexpr int kNotFound = 127;
    const int status = WIFEXITED(pager_status_) ? WEXITSTATUS(pager_status_) : 0;
    if (status == kNotExecutable || status == kNotFound) {
        return fail(ErrorCode::kIo,
                    fmt::format("the pager \"{}\" cannot be run: set BEAMDUMP_PAGER or PAGER to "
                                "another, or give --no-pager",
                                command_.back()));
    }
    return {};
}

Result<void> PagedOutput::put(std::string_view text) {
    if (pager_ < 0 && !command_.empty() && !start()) {
        command_.clear();
    }
    return pager_ < 0 ? render::write_all(STDOUT_FILENO, "standard output", text)
                      : render::write_all(pipe_.get(), "the pager", text);
}

void PagedOutput::end() {
    if (!waiting_.joinable()) {
        return;
    }
    finishing_ = true;
    if (errors_.valid()) {
        ::dup2(errors_.get(), STDERR_FILENO);
    }
    pipe_ = Descriptor();
    waiting_.join();
    std::signal(SIGINT, SIG_DFL);
}

Result<void> PagedOutput::finish() {
    end();
    return pager_ran();
}

}  // namespace beamdump::cli
