#include "cli/crash_handler.h"

#include <libdump/base/decimal.h>
#include <libdump/base/descriptor.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libdump/base/write_all.h>
#include <libvm/target/core/core_file.h>
#include <libvm/target/image/vm_image.h>
#include <libvm/target/process/proc_directory.h>
#include <libvm/target/process/proc_lines.h>
#include <libvm/target/process/threads.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <fcntl.h>
#include <linux/openat2.h>
#include <map>
#include <poll.h>
#include <span>
#include <spawn.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

namespace beamdump::cli {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;
constexpr std::string_view kBegin = "crash-";
constexpr std::string_view kEnd = ".beamdump";
/// Where the capture finds the beginning of the core.
constexpr int kHeadDescriptor = 3;

/// A process that was started, and its end.
class Started {
  public:
    /// `files`: which descriptor it gets as which.
    static Result<Started> start(const std::string& program, std::vector<std::string> words,
                                 const std::vector<std::pair<int, int>>& files) {
        posix_spawn_file_actions_t actions{};
        ::posix_spawn_file_actions_init(&actions);
        // What this program does with its signals (program/start.h) is not for others.
        posix_spawnattr_t attributes{};
        ::posix_spawnattr_init(&attributes);
        sigset_t none{};
        sigset_t ignored{};
        ::sigemptyset(&none);
        ::sigemptyset(&ignored);
        ::sigaddset(&ignored, SIGPIPE);
        ::sigaddset(&ignored, SIGXFSZ);
        ::posix_spawnattr_setsigmask(&attributes, &none);
        ::posix_spawnattr_setsigdefault(&attributes, &ignored);
        ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        for (const auto& [from, to] : files) {
            ::posix_spawn_file_actions_adddup2(&actions, from, to);
        }
        std::vector<char*> arguments;
        arguments.reserve(words.size() + 1);
        for (auto& word : words) {
            arguments.push_back(word.data());
        }
        arguments.push_back(nullptr);
        Started started;
        const int error = ::posix_spawn(&started.pid_, program.c_str(), &actions, &attributes,
                                        arguments.data(), environ);
        ::posix_spawnattr_destroy(&attributes);
        ::posix_spawn_file_actions_destroy(&actions);
        if (error != 0) {
            return fail(ErrorCode::kIo,
                        fmt::format("cannot start {}: {}", program, system_error_text(error)));
        }
        return started;
    }

    /// Its exit status; nothing: it has not ended in that time, and was killed, or a signal ended
    /// it.
    std::optional<int> wait(std::optional<std::chrono::milliseconds> longest) {
        const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
        const int time = longest ? static_cast<int>(longest->count()) : -1;
        pollfd ends{process.get(), POLLIN, 0};
        if (longest && (!process.valid() || ::poll(&ends, 1, time) != 1)) {
            ::kill(pid_, SIGKILL);
        }
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        return WIFEXITED(status) ? std::optional(WEXITSTATUS(status)) : std::nullopt;
    }

  private:
    pid_t pid_ = 0;
};

Result<void> write_whole(int output, std::span<const std::byte> bytes) {
    const auto outcome = write_all(output, bytes);
    return outcome.error_number == 0
               ? Result<void>()
               : fail(ErrorCode::kIo, fmt::format("the core cannot be passed on: {}",
                                                  system_error_text(outcome.error_number)));
}

/// The whole core: `head`, which was read, and what is left of the input.
Result<void> pass_core(std::span<const std::byte> head, int input, int output) {
    RETURN_IF_ERROR(write_whole(output, head));
    std::vector<std::byte> piece(kPieceBytes);
    for (;;) {
        const auto got = ::read(input, piece.data(), piece.size());
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got == 0 ? Result<void>()
                            : fail(ErrorCode::kIo, fmt::format("the core cannot be read: {}",
                                                               system_error_text(errno)));
        }
        RETURN_IF_ERROR(write_whole(output, std::span(piece).first(static_cast<std::size_t>(got))));
    }
}

/// To the program of a core_pattern that begins with `|`.
Result<void> pass_to_program(std::vector<std::string> words, std::span<const std::byte> head,
                             int input) {
    words.front().erase(0, 1);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return fail(ErrorCode::kIo,
                    fmt::format("cannot make a pipe: {}", system_error_text(errno)));
    }
    Descriptor reading(ends[0]);
    Descriptor writing(ends[1]);
    ASSIGN_OR_RETURN(auto program,
                     Started::start(words.front(), words, {{reading.get(), STDIN_FILENO}}));
    reading = Descriptor();
    // A program that takes only the beginning closes the pipe: no error.
    (void)pass_core(head, input, writing.get());
    writing = Descriptor();
    (void)program.wait(std::nullopt);
    return {};
}

/// How large the process's core may be (ulimit -c), by /proc/PID/limits; nothing: without limit.
std::optional<std::uint64_t> core_limit(const target::ProcDirectory& process) {
    const auto limits = process.read("limits").value_or("");
    constexpr std::string_view kName = "Max core file size";
    return target::listed_text(limits, kName) ? target::listed_number(limits, kName) : 0;
}

/// The folder of the core of a core_pattern: below the process's root, or its directory where the
/// path is relative. A link on the way never leads out of it: this program is root, and whoever
/// owns the folder may be nobody (openat2(2)).
Result<Descriptor> folder_of_core(const std::filesystem::path& pattern, pid_t pid) {
    const auto base = fmt::format("/proc/{}/{}", pid, pattern.is_absolute() ? "root" : "cwd");
    const Descriptor start(::open(base.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    open_how how{};
    how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    how.resolve = pattern.is_absolute() ? RESOLVE_IN_ROOT : RESOLVE_BENEATH;
    const auto below = "." / pattern.relative_path().parent_path();
    Descriptor folder(static_cast<int>(
        start.valid() ? ::syscall(SYS_openat2, start.get(), below.c_str(), &how, sizeof(how))
                      : -1));
    if (!folder.valid()) {
        return fail(ErrorCode::kIo,
                    fmt::format("cannot open the folder of the core {} of process {}: {}",
                                pattern.native(), pid, system_error_text(errno)));
    }
    return folder;
}

/// To the file of a core_pattern, as the kernel writes it (do_coredump(), Linux' fs/coredump.c):
/// for the process's user, and none where it may have no core as large.
Result<void> pass_to_file(const std::filesystem::path& pattern, pid_t pid,
                          std::span<const std::byte> head, int input) {
    ASSIGN_OR_RETURN(const auto process, target::ProcDirectory::open(pid));
    if (core_limit(process)) {
        return {};
    }
    ASSIGN_OR_RETURN(const auto folder, folder_of_core(pattern, pid));
    const auto name = pattern.filename();
    struct stat status{};
    const bool known = ::stat(fmt::format("/proc/{}", pid).c_str(), &status) == 0;
    // What is there is removed, never followed.
    ::unlinkat(folder.get(), name.c_str(), 0);
    const Descriptor file(::openat(folder.get(), name.c_str(),
                                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.valid()) {
        return fail(ErrorCode::kIo, fmt::format("cannot write the core {}: {}", pattern.native(),
                                                system_error_text(errno)));
    }
    if (known && ::fchown(file.get(), status.st_uid, status.st_gid) != 0) {
        return fail(ErrorCode::kIo, fmt::format("cannot give the core {} to its user: {}",
                                                pattern.native(), system_error_text(errno)));
    }
    return pass_core(head, input, file.get());
}

void say(int priority, const std::string& sentence) {
    ::openlog("beamdump-capture", LOG_PID, LOG_DAEMON);
    ::syslog(priority, "%s", sentence.c_str());
}

/// Captures the process with this program itself, in another process: that one may fail or hang.
Result<void> capture_in_child(const CrashCommand& command, std::span<const std::byte> head) {
    Descriptor notes(::memfd_create("core", MFD_CLOEXEC));
    const Descriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    std::array<int, 2> ends{};
    if (!notes.valid() || !nothing.valid() || ::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
        return fail(ErrorCode::kIo,
                    fmt::format("the capture cannot begin: {}", system_error_text(errno)));
    }
    const Descriptor told(ends[0]);
    Descriptor telling(ends[1]);
    RETURN_IF_ERROR(write_whole(notes.get(), head));
    auto words = command.capture;
    words.insert(words.begin(), "beamdump-capture");
    words.insert(words.end(), {"--quiet", "--head", std::to_string(kHeadDescriptor)});
    // Not by way of a descriptor that it is given itself.
    const Descriptor apart(::fcntl(notes.get(), F_DUPFD_CLOEXEC, 10));
    ASSIGN_OR_RETURN(auto child, Started::start("/proc/self/exe", std::move(words),
                                                {{nothing.get(), STDIN_FILENO},
                                                 {nothing.get(), STDOUT_FILENO},
                                                 {telling.get(), STDERR_FILENO},
                                                 {apart.get(), kHeadDescriptor}}));
    telling = Descriptor();
    const auto status = child.wait(command.timeout + kCrashGrace);
    if (status == 0 || status == 3) {
        return {};
    }
    std::string text(2000, '\0');
    const auto bytes = ::read(told.get(), text.data(), text.size());
    text.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
    return fail(ErrorCode::kIo,
                status ? text
                       : fmt::format("the capture of process {} was ended: it took over {} s",
                                     command.pid, (command.timeout + kCrashGrace).count()));
}

/// Names of a process's threads by their ids as the process sees them, which the core has: in a
/// container they are others than here.
std::map<pid_t, std::string> thread_names(pid_t pid) {
    std::map<pid_t, std::string> names;
    const auto process = target::ProcDirectory::open(pid);
    if (!process) {
        return names;
    }
    for (const auto thread : target::threads_of(pid).value_or(std::vector<pid_t>())) {
        const auto status = process->read(fmt::format("task/{}/status", thread)).value_or("");
        const auto name = target::listed_text(status, "Name").value_or("");
        const auto ids = target::listed_text(status, "NSpid").value_or("");
        // The innermost namespace's comes last.
        const auto id = decimal_number(ids.substr(ids.find_last_of('\t') + 1));
        if (id && !name.empty()) {
            names.emplace(static_cast<pid_t>(*id), name);
        }
    }
    return names;
}

struct CrashDumpFile {
    std::filesystem::path path;
    std::filesystem::file_time_type written;
};

std::vector<CrashDumpFile> crash_dumps(const std::filesystem::path& folder) {
    std::vector<CrashDumpFile> found;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        const auto name = entry->path().filename().native();
        std::error_code ignored;
        if (name.starts_with(kBegin) && name.find(kEnd) != std::string::npos &&
            entry->is_regular_file(ignored)) {
            found.push_back({entry->path(), entry->last_write_time(ignored)});
        }
    }
    std::ranges::sort(found, {}, &CrashDumpFile::written);
    return found;
}

}  // namespace

std::optional<CrashCommand> crash_command(const std::vector<std::string>& arguments) {
    const auto rest = std::ranges::find(arguments, "--");
    CrashCommand command;
    command.capture.assign(arguments.begin(), rest);
    if (rest != arguments.end()) {
        command.next.assign(rest + 1, arguments.end());
    }
    const auto value = [&](std::string_view option) {
        const auto at = std::ranges::find(command.capture, option);
        return at == command.capture.end() || at + 1 == command.capture.end()
                   ? std::nullopt
                   : decimal_number(*(at + 1));
    };
    const auto is_given = [&](std::string_view option) {
        return std::ranges::find(command.capture, option) != command.capture.end();
    };
    if (!is_given("--crashed") || is_given("--head") || is_given("--help")) {
        return std::nullopt;
    }
    command.pid = static_cast<pid_t>(value("--crashed").value_or(0));
    if (const auto seconds = value("--timeout")) {
        command.timeout = std::chrono::seconds(*seconds);
    }
    return command;
}

int handle_crash(const CrashCommand& command, int input) {
    // A former handler may read less than all.
    std::signal(SIGPIPE, SIG_IGN);
    int status = 0;
    std::vector<std::byte> head;
    // A process that is none of ours goes on at once.
    if (command.pid > 0 && target::runs_vm(command.pid)) {
        auto captured = target::read_core_head(input, head);
        if (captured) {
            captured = capture_in_child(command, head);
        }
        if (!captured) {
            say(LOG_ERR, captured.error().message);
            status = 1;
        }
    }
    if (command.next.empty()) {
        return status;
    }
    const auto passed = command.next.front().starts_with('|')
                            ? pass_to_program(command.next, head, input)
                            : pass_to_file(command.next.front(), command.pid, head, input);
    if (!passed) {
        say(LOG_ERR, passed.error().message);
        status = 1;
    }
    return status;
}

Result<sampler::CrashFacts> crash_facts(int head, pid_t pid) {
    struct stat status{};
    if (::fstat(head, &status) != 0 || !S_ISREG(status.st_mode)) {
        return fail(ErrorCode::kIo,
                    fmt::format("the beginning of the core is not in descriptor {}", head));
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    if (::pread(head, bytes.data(), bytes.size(), 0) != status.st_size) {
        return fail(ErrorCode::kIo, fmt::format("the beginning of the core cannot be read: {}",
                                                system_error_text(errno)));
    }
    ASSIGN_OR_RETURN(
        const auto core,
        target::CoreFile::of_head(std::move(bytes), fmt::format("the core of process {}", pid)));
    if (!core.signal() || !core.signal()->ends_process() || core.threads().empty()) {
        return fail(ErrorCode::kNotFound,
                    fmt::format("the core of process {} names no signal that ended it", pid));
    }
    sampler::CrashFacts facts{.signal = *core.signal(), .threads = core.threads()};
    // In a container the process sees itself under another id.
    if (facts.signal.sender == core.process().pid) {
        facts.signal.sender = pid;
    }
    facts.thread_names = thread_names(pid);
    return facts;
}

Result<CrashOutput> crash_output(const std::filesystem::path& folder, pid_t pid, std::uint64_t keep,
                                 std::uint64_t free_bytes) {
    std::error_code error;
    if (std::filesystem::create_directories(folder, error)) {
        std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
    }
    const auto dumps = crash_dumps(folder);
    for (std::size_t at = 0; at + keep <= dumps.size(); ++at) {
        std::filesystem::remove(dumps[at].path, error);
    }
    const auto space = std::filesystem::space(folder, error);
    if (error) {
        return fail(ErrorCode::kIo,
                    fmt::format("cannot use the folder {}: {}", folder.native(), error.message()));
    }
    if (space.available <= free_bytes) {
        return fail(
            ErrorCode::kNoSpace,
            fmt::format("no dump of process {}: the disk of {} has {} bytes left, of which {} "
                        "stay free",
                        pid, folder.native(), space.available, free_bytes));
    }
    return CrashOutput{folder / fmt::format("{}{}-{:%Y%m%dT%H%M%SZ}{}", kBegin, pid,
                                            fmt::gmtime(std::time(nullptr)), kEnd),
                       space.available - free_bytes};
}

}  // namespace beamdump::cli
