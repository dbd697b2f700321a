#include <libdump/base/system_error.h>
#include <libvm/target/process/threads_of.h>

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <new>
#include <system_error>

namespace beamdump::target {

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

}  // namespace beamdump::target
