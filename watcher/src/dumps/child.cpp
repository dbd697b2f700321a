#include "dumps/child.h"

#include <libdump/base/system_error.h>

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char** environ;

namespace beamdump::watch {

std::filesystem::path sibling(const std::string& name) {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    const auto beside = self.parent_path() / name;
    return !error && std::filesystem::exists(beside, error) ? beside : std::filesystem::path(name);
}

Result<Child> Child::start(const std::vector<std::string>& command,
                           const std::vector<std::pair<std::string, std::string>>& variables,
                           const Descriptor& input) {
    std::vector<std::string> settings;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        settings.emplace_back(*variable);
    }
    for (const auto& [name, value] : variables) {
        settings.push_back(name + "=" + value);
    }
    const auto pointers = [](const std::vector<std::string>& texts) {
        std::vector<char*> all;
        for (const auto& text : texts) {
            all.push_back(const_cast<char*>(text.c_str()));
        }
        all.push_back(nullptr);
        return all;
    };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&files);
    if (input.valid()) {
        ::posix_spawn_file_actions_adddup2(&files, input.get(), STDIN_FILENO);
    } else {
        ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
    ::posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    ::posix_spawnattr_init(&attributes);
    sigset_t none;
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    pid_t pid = 0;
    const int failed = ::posix_spawnp(&pid, command.front().c_str(), &files, &attributes,
                                      pointers(command).data(), pointers(settings).data());
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&files);
    if (failed != 0) {
        return fail(failed == ENOENT ? ErrorCode::kNotFound : ErrorCode::kLimit,
                    fmt::format("cannot start {}: {}", command.front(), system_error_text(failed)));
    }
    return Child(pid);
}

Child& Child::operator=(Child&& other) noexcept {
    if (this != &other) {
        end();
        pid_ = std::exchange(other.pid_, 0);
    }
    return *this;
}

Child::~Child() {
    end();
}

std::optional<int> Child::ended() {
    int status = 0;
    if (pid_ == 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) {
        return std::nullopt;
    }
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void Child::end() {
    using std::chrono::milliseconds;
    constexpr milliseconds kPatience{2000};
    constexpr milliseconds kLook{20};
    if (pid_ == 0) {
        return;
    }
    ::kill(pid_, SIGTERM);
    for (auto waited = milliseconds(0); waited < kPatience; waited += kLook) {
        if (ended()) {
            return;
        }
        std::this_thread::sleep_for(kLook);
    }
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
}

}  // namespace beamdump::watch
