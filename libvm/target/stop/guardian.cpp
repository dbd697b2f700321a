#include <libdump/base/system_error.h>
#include <libvm/target/process/clock.h>
#include <libvm/target/stop/guardian.h>
#include <libvm/target/stop/raised_priority.h>

#include <climits>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <poll.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace beamdump::target {

/// Shared by both processes.
struct Guardian::Page {
    std::atomic<std::uint32_t> begun{0};       ///< holds so far; the guardian sleeps on it
    std::atomic<std::int64_t> deadline_ns{0};  ///< 0: nothing is held
    /// From the deadline on: a process that is not stopped, and does not end its hold, is killed.
    std::atomic<std::int64_t> patience_ns{0};
    std::atomic<bool> woken{false};
};

namespace {

/// Grace period for a late process.
constexpr std::int64_t kSlackNs = 1'000'000;
/// From the deadline on: one that is stopped, and stays so, is killed.
constexpr std::int64_t kStoppedNs = 8'000'000;
/// One that is not stopped may get no processor, or be in a frozen cgroup.
constexpr std::int64_t kSilentNs = 250'000'000;
/// In a hold without a limit, where a quota of processor time keeps a process from running for
/// longer than that.
constexpr std::int64_t kSilentWithoutLimitNs = 1'000'000'000;

static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free);

timespec time_of(std::int64_t ns) {
    return {ns / 1'000'000'000, ns % 1'000'000'000};
}

/// Until the word changes from `seen`, or that moment (0: for ever).
void sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t until_ns) {
    const auto until = time_of(until_ns);
    ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, seen, until_ns == 0 ? nullptr : &until, nullptr,
              FUTEX_BITSET_MATCH_ANY);
}

void sleep_until(std::int64_t ns) {
    const auto until = time_of(ns);
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
}

/// 'R', 'S', 'T' (stopped), 't' (by a tracer); '?' where it cannot be known. Makes system calls
/// only: the process is a fork of one that may have held locks.
char state_of(pid_t pid) {
    std::array<char, 32> path{};
    *fmt::format_to_n(path.data(), path.size() - 1, "/proc/{}/stat", pid).out = '\0';
    const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
    std::array<char, 512> text{};
    const auto got = file < 0 ? -1 : ::read(file, text.data(), text.size());
    ::close(file);
    const std::string_view stat(text.data(), got < 0 ? 0 : static_cast<std::size_t>(got));
    const auto name_end = stat.rfind(')');
    return name_end == std::string_view::npos || name_end + 2 >= stat.size() ? '?'
                                                                             : stat[name_end + 2];
}

void send(int process, int signal) {
    ::syscall(SYS_pidfd_send_signal, process, signal, nullptr, 0);
}

/// Closes all but standard error and `keep`.
void close_others(int keep) {
    const auto first = std::min(keep, STDERR_FILENO);
    const auto second = std::max(keep, STDERR_FILENO);
    if (first > 0) {
        ::syscall(SYS_close_range, 0, first - 1, 0);
    }
    if (second - first > 1) {
        ::syscall(SYS_close_range, first + 1, second - 1, 0);
    }
    ::syscall(SYS_close_range, second + 1, UINT_MAX, 0);
}

/// Gives up what it does not need, but first what it does: its turn on a processor when it is due.
void become_small(int keep) {
    ::setsid();
    ::prctl(PR_SET_NAME, "beamdump-guard");
    raise_priority();
    close_others(keep);
    [[maybe_unused]] const auto moved = ::chdir("/");
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    const std::array<__user_cap_data_struct, 2> none{};
    ::syscall(SYS_capset, &header, none.data());
}

/// Says why the process was killed, where standard error takes it at once.
void tell_of_kill(std::int64_t late_ns) {
    pollfd error{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&error, 1, 0) != 1 || (error.revents & POLLOUT) == 0) {
        return;
    }
    std::array<char, 512> text{};  // less than PIPE_BUF: written whole or not at all
    const auto end = fmt::format_to_n(
        text.data(), text.size(),
        "{}{}: killed by its guardian process: the node was stopped, and this program did not let "
        "it go within {} ms after the end of the stop's time (a debugger, a frozen cgroup, or a "
        "quota of processor time keeps it from running). The node runs again: give this program "
        "more processor time, or choose a mode that does not stop the node\n",
        ::isatty(STDERR_FILENO) != 0 ? "\n" : "", program_invocation_short_name,
        late_ns / 1'000'000);
    [[maybe_unused]] const auto written =
        ::write(STDERR_FILENO, text.data(), static_cast<std::size_t>(end.out - text.data()));
}

}  // namespace

void Guardian::Unmap::operator()(Page* page) const {
    ::munmap(page, sizeof(Page));
}

Result<std::unique_ptr<Guardian>> Guardian::start() {
    void* memory =
        ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return fail(
            ErrorCode::kLimit,
            fmt::format("cannot start the guardian process that limits stops of the node: {}",
                        system_error_text(errno)));
    }
    std::unique_ptr<Page, Unmap> page(new (memory) Page());
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) {
        watch(*page, parent);
    }
    if (pid < 0) {
        return fail(ErrorCode::kLimit,
                    fmt::format("cannot start the guardian process that limits stops of the node: "
                                "{} (see the process limits of this user and cgroup)",
                                system_error_text(errno)));
    }
    Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (handle.get() < 0) {
        // The guardian needs one of this process, too, and has ended without it.
        return fail(ErrorCode::kUnsupported,
                    fmt::format("cannot limit stops of the node: {} (pidfd_open, Linux 5.3)",
                                system_error_text(errno)));
    }
    return std::unique_ptr<Guardian>(new Guardian(std::move(page), pid, std::move(handle)));
}

Guardian::~Guardian() {
    send(handle_.get(), SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

Result<void> Guardian::begin(std::int64_t deadline_ns) {
    // One that was stopped itself is of no use either; it is ours to continue.
    send(handle_.get(), SIGCONT);
    siginfo_t ended{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        ended.si_pid != 0) {
        return fail(ErrorCode::kLimit, fmt::format("the guardian process that limits stops of the "
                                                   "node ({}) was killed: start the capture again",
                                                   pid_));
    }
    page_->patience_ns = kSilentNs;
    page_->deadline_ns = deadline_ns;
    ++page_->begun;
    ::syscall(SYS_futex, &page_->begun, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    return {};
}

void Guardian::extend(std::int64_t deadline_ns) {
    page_->patience_ns = kSilentWithoutLimitNs;
    page_->deadline_ns = deadline_ns;
}

void Guardian::end() {
    page_->deadline_ns = 0;
}

bool Guardian::woken() const {
    return page_->woken;
}

bool Guardian::consume_woken() {
    return page_->woken.exchange(false);
}

void Guardian::watch(Page& page, pid_t parent) {
    const auto handle = static_cast<int>(::syscall(SYS_pidfd_open, parent, 0));
    if (handle < 0) {
        ::_exit(1);
    }
    become_small(handle);
    // After the capabilities: giving them up might clear it.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (::getppid() == parent) {
        const auto seen = page.begun.load();
        const auto deadline_ns = page.deadline_ns.load();
        if (deadline_ns == 0 || clock_ns(CLOCK_MONOTONIC) < deadline_ns + kSlackNs) {
            sleep_on(page.begun, seen, deadline_ns == 0 ? 0 : deadline_ns + kSlackNs);
        } else {
            resume(page, parent, handle, deadline_ns);
        }
    }
    ::_exit(0);
}

/// The deadline has passed and the node is still held.
void Guardian::resume(Page& page, pid_t parent, int parent_handle, std::int64_t deadline_ns) {
    constexpr std::int64_t kBetweenLooksNs = 1'000'000;
    bool was_stopped = false;
    while (page.deadline_ns == deadline_ns) {
        const auto late_ns = clock_ns(CLOCK_MONOTONIC) - deadline_ns;
        const char state = state_of(parent);
        const bool stopped = state == 'T' || state == 't';
        if (late_ns > (stopped && was_stopped ? kStoppedNs : page.patience_ns.load())) {
            ::prctl(PR_SET_PDEATHSIG, 0);  // to live long enough to tell
            send(parent_handle, SIGKILL);
            tell_of_kill(late_ns);
            ::_exit(1);
        }
        if (state == 'T') {
            page.woken = true;
            send(parent_handle, SIGCONT);
        }
        was_stopped = was_stopped || stopped;
        sleep_until(clock_ns(CLOCK_MONOTONIC) + kBetweenLooksNs);
    }
}

}  // namespace beamdump::target
