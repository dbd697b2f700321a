#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libvm/target/process/proc_directory.h>
#include <libvm/target/process/proc_lines.h>

#include <climits>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace beamdump::target {
namespace {

constexpr std::uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD, Linux' include/linux/sched.h

template <typename T>
bool number(std::string_view text, T& value, int base = 10) {
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

std::vector<std::string_view> words(std::string_view text) {
    std::vector<std::string_view> all;
    constexpr std::string_view kBlanks = " \t\n";
    while (true) {
        const auto begin = text.find_first_not_of(kBlanks);
        if (begin == std::string_view::npos) {
            return all;
        }
        text.remove_prefix(begin);
        const auto word = text.substr(0, text.find_first_of(kBlanks));
        all.push_back(word);
        text.remove_prefix(word.size());
    }
}

template <typename T>
bool status_number(std::string_view status, std::string_view name, std::size_t index, T& value,
                   int base = 10) {
    const auto line = words(listed_text(status, name).value_or(""));
    return line.size() > index && number(line[index], value, base);
}

// "pid (name) state ppid ...": the name may hold blanks and brackets, so its end is the last one.
bool parse_stat(std::string_view stat, ProcessFacts& facts) {
    const auto open = stat.find('(');
    const auto close = stat.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
        return false;
    }
    facts.name = stat.substr(open + 1, close - open - 1);
    const auto fields = words(stat.substr(close + 1));  // fields[0] is field 3 of proc(5)
    std::uint64_t flags = 0;
    if (fields.size() < 20 || fields[0].size() != 1 || !number(fields[1], facts.parent) ||
        !number(fields[6], flags) || !number(fields[19], facts.start_ticks)) {
        return false;
    }
    facts.state = fields[0][0];
    facts.kernel_thread = (flags & kKernelThread) != 0;
    return true;
}

bool parse_status(std::string_view status, ProcessFacts& facts) {
    return status_number(status, "Tgid", 0, facts.thread_group) &&
           status_number(status, "TracerPid", 0, facts.tracer) &&
           status_number(status, "Uid", 0, facts.real_uid) &&
           status_number(status, "Uid", 1, facts.effective_uid) &&
           status_number(status, "Uid", 2, facts.saved_uid) &&
           status_number(status, "Gid", 0, facts.real_gid) &&
           status_number(status, "Gid", 1, facts.effective_gid) &&
           status_number(status, "Gid", 2, facts.saved_gid) &&
           status_number(status, "CapPrm", 0, facts.permitted_capabilities, 16) &&
           status_number(status, "CapEff", 0, facts.effective_capabilities, 16);
}

}  // namespace

Result<ProcessFacts> parse_process_facts(std::string_view stat, std::string_view status) {
    ProcessFacts facts;
    if (!parse_stat(stat, facts) || !parse_status(status, facts)) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("cannot parse the kernel's description of the process: \"{}\"",
                                stat.substr(0, 100)));
    }
    return facts;
}

Result<ProcessFacts> process_facts(pid_t pid) {
    ASSIGN_OR_RETURN(const auto process, ProcDirectory::open(pid));
    return process.facts();
}

Result<void> check_proc() {
    std::array<char, 32> text{};
    const ssize_t got = ::readlink("/proc/self", text.data(), text.size());
    const std::string_view self(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    pid_t own = 0;
    if (!number(self, own)) {
        return fail(ErrorCode::kUnsupported,
                    "/proc is not mounted here, from which processes are read: mount it (mount -t "
                    "proc proc /proc), or run this program outside the chroot or container");
    }
    if (own != ::getpid()) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("/proc is that of another PID namespace: this program is process "
                                "{} there and {} here, so a number may mean another process; mount "
                                "this namespace's own (mount -t proc proc /proc), or run this "
                                "program in the namespace of /proc",
                                own, ::getpid()));
    }
    return {};
}

Result<ProcDirectory> ProcDirectory::open(pid_t pid) {
    RETURN_IF_ERROR(check_proc());
    ProcDirectory proc;
    proc.pid_ = pid;
    proc.directory_ = Descriptor(
        ::open(fmt::format("/proc/{}", pid).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!proc.directory_.valid()) {
        const int error_number = errno;
        if (pid > 0 && error_number == ENOENT && (::kill(pid, 0) == 0 || errno == EPERM)) {
            return fail(
                ErrorCode::kPermission,
                fmt::format("process {} is there, but /proc does not show it to this user "
                            "(mounted with hidepid?): {}",
                            pid,
                            ::geteuid() == 0 ? "mount it without, or run outside the container"
                                             : "run as root"));
        }
        if (error_number != ENOENT) {
            return fail(ErrorCode::kIo, fmt::format("cannot open /proc/{}: {}", pid,
                                                    system_error_text(error_number)));
        }
        return fail(ErrorCode::kNotFound, fmt::format("there is no process {}", pid));
    }
    return proc;
}

std::string ProcDirectory::path(std::string_view name) const {
    return fmt::format("/proc/{}/{}", pid_, name);
}

std::unexpected<Error> ProcDirectory::error(std::string_view doing, std::string_view name,
                                            int error) const {
    if (error == ESRCH) {
        return fail(ErrorCode::kTargetDied, fmt::format("process {} has exited", pid_));
    }
    const bool forbidden = error == EACCES || error == EPERM;
    return fail(forbidden ? ErrorCode::kPermission : ErrorCode::kIo,
                fmt::format("{} {}: {}", doing, path(name), system_error_text(error)));
}

Result<std::string> ProcDirectory::read(std::string_view name, std::size_t most_bytes) const {
    const Descriptor file(
        ::openat(directory_.get(), std::string(name).c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) {
        return error("cannot open", name, errno);
    }
    std::string text;
    std::array<char, 16384> part{};
    while (true) {
        const ssize_t got = ::read(file.get(), part.data(), part.size());
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return error("cannot read", name, errno);
        }
        if (got == 0) {
            return text;
        }
        text.append(part.data(), static_cast<std::size_t>(got));
        if (text.size() > most_bytes) {
            return fail(ErrorCode::kLimit,
                        fmt::format("{} is longer than {} bytes", path(name), most_bytes));
        }
    }
}

Result<std::string> ProcDirectory::link(std::string_view name) const {
    std::string target(PATH_MAX, '\0');
    const ssize_t got =
        ::readlinkat(directory_.get(), std::string(name).c_str(), target.data(), target.size());
    if (got < 0) {
        return error("cannot read the link", name, errno);
    }
    target.resize(static_cast<std::size_t>(got));
    return target;
}

Result<uid_t> ProcDirectory::owner(std::string_view name) const {
    struct stat status{};
    if (::fstatat(directory_.get(), std::string(name).c_str(), &status, 0) != 0) {
        return error("cannot look at", name, errno);
    }
    return status.st_uid;
}

Result<ProcessFacts> ProcDirectory::facts() const {
    ASSIGN_OR_RETURN(const auto stat, read("stat"));
    ASSIGN_OR_RETURN(const auto status, read("status"));
    return parse_process_facts(stat, status);
}

}  // namespace beamdump::target
