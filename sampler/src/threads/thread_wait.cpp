#include "threads/thread_wait.h"

#include <libvm/arch/host.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <linux/futex.h>
#include <sys/syscall.h>

namespace beamdump::sampler {
namespace {

namespace older_calls = arch::host::older_calls;

struct KnownCall {
    long number;
    std::string_view name;
    WaitsFor what;
};

/// Calls that wait, or may take long. `kDescriptor`: their first argument is one.
constexpr std::array kKnownCalls = {
    KnownCall{SYS_read, "read", WaitsFor::kDescriptor},
    KnownCall{SYS_write, "write", WaitsFor::kDescriptor},
    KnownCall{SYS_close, "close", WaitsFor::kDescriptor},
    KnownCall{older_calls::kPoll, "poll", WaitsFor::kReady},
    KnownCall{SYS_mmap, "mmap", WaitsFor::kOther},
    KnownCall{SYS_mprotect, "mprotect", WaitsFor::kOther},
    KnownCall{SYS_munmap, "munmap", WaitsFor::kOther},
    KnownCall{SYS_brk, "brk", WaitsFor::kOther},
    KnownCall{SYS_ioctl, "ioctl", WaitsFor::kDescriptor},
    KnownCall{SYS_pread64, "pread64", WaitsFor::kDescriptor},
    KnownCall{SYS_pwrite64, "pwrite64", WaitsFor::kDescriptor},
    KnownCall{SYS_readv, "readv", WaitsFor::kDescriptor},
    KnownCall{SYS_writev, "writev", WaitsFor::kDescriptor},
    KnownCall{older_calls::kSelect, "select", WaitsFor::kReady},
    KnownCall{SYS_madvise, "madvise", WaitsFor::kOther},
    KnownCall{older_calls::kPause, "pause", WaitsFor::kOther},
    KnownCall{SYS_nanosleep, "nanosleep", WaitsFor::kTime},
    KnownCall{SYS_connect, "connect", WaitsFor::kDescriptor},
    KnownCall{SYS_accept, "accept", WaitsFor::kDescriptor},
    KnownCall{SYS_sendto, "sendto", WaitsFor::kDescriptor},
    KnownCall{SYS_recvfrom, "recvfrom", WaitsFor::kDescriptor},
    KnownCall{SYS_sendmsg, "sendmsg", WaitsFor::kDescriptor},
    KnownCall{SYS_recvmsg, "recvmsg", WaitsFor::kDescriptor},
    KnownCall{SYS_wait4, "wait4", WaitsFor::kOther},
    KnownCall{SYS_fcntl, "fcntl", WaitsFor::kDescriptor},
    KnownCall{SYS_flock, "flock", WaitsFor::kDescriptor},
    KnownCall{SYS_fsync, "fsync", WaitsFor::kDescriptor},
    KnownCall{SYS_fdatasync, "fdatasync", WaitsFor::kDescriptor},
    KnownCall{SYS_ftruncate, "ftruncate", WaitsFor::kDescriptor},
    KnownCall{older_calls::kRename, "rename", WaitsFor::kOther},
    KnownCall{older_calls::kUnlink, "unlink", WaitsFor::kOther},
    KnownCall{SYS_rt_sigtimedwait, "rt_sigtimedwait", WaitsFor::kOther},
    KnownCall{SYS_rt_sigsuspend, "rt_sigsuspend", WaitsFor::kOther},
    KnownCall{SYS_futex, "futex", WaitsFor::kFutex},
    KnownCall{SYS_restart_syscall, "restart_syscall", WaitsFor::kOther},
    KnownCall{SYS_clock_nanosleep, "clock_nanosleep", WaitsFor::kTime},
    KnownCall{older_calls::kEpollWait, "epoll_wait", WaitsFor::kReady},
    KnownCall{SYS_waitid, "waitid", WaitsFor::kOther},
    KnownCall{SYS_openat, "openat", WaitsFor::kOther},
    KnownCall{SYS_renameat2, "renameat2", WaitsFor::kOther},
    KnownCall{SYS_unlinkat, "unlinkat", WaitsFor::kOther},
    KnownCall{SYS_newfstatat, "newfstatat", WaitsFor::kOther},
    KnownCall{SYS_pselect6, "pselect6", WaitsFor::kReady},
    KnownCall{SYS_ppoll, "ppoll", WaitsFor::kReady},
    KnownCall{SYS_epoll_pwait, "epoll_pwait", WaitsFor::kReady},
    KnownCall{SYS_fallocate, "fallocate", WaitsFor::kDescriptor},
    KnownCall{SYS_accept4, "accept4", WaitsFor::kDescriptor},
    KnownCall{SYS_preadv, "preadv", WaitsFor::kDescriptor},
    KnownCall{SYS_pwritev, "pwritev", WaitsFor::kDescriptor},
    KnownCall{SYS_io_uring_enter, "io_uring_enter", WaitsFor::kDescriptor},
    KnownCall{SYS_epoll_pwait2, "epoll_pwait2", WaitsFor::kReady},
};

/// The value of an event with a thread that waits for it (ETHR_EVENT_OFF_WAITER__,
/// erts/include/internal/pthread/ethr_event.h, OTP 25 to 29).
constexpr std::uint32_t kEventWaited = 0xffffffff;
/// Where that value is in the structure of the thread's events (ethr_ts_event, ethread.h, OTP 25 to
/// 29).
constexpr std::uint64_t kEventValue = 16;
/// Of a mutex of glibc that is held and waited for.
constexpr std::uint32_t kHeldAndWaited = 2;

/// Whether the kernel waits as long as the word has a value (futex(2)).
bool waits_while(const SystemCall& call, std::uint32_t value) {
    return call.number == SYS_futex &&
           (call.arguments[1] & static_cast<std::uint64_t>(FUTEX_CMD_MASK)) == FUTEX_WAIT &&
           static_cast<std::uint32_t>(call.arguments[2]) == value;
}

}  // namespace

std::string_view waits_for_name(WaitsFor what) {
    switch (what) {
        case WaitsFor::kMutex:
            return "mutex";
        case WaitsFor::kTableLock:
            return "table_lock";
        case WaitsFor::kEvent:
            return "event";
        case WaitsFor::kFutex:
            return "futex";
        case WaitsFor::kReady:
            return "ready";
        case WaitsFor::kDescriptor:
            return "descriptor";
        case WaitsFor::kTime:
            return "time";
        case WaitsFor::kOther:
            return "other";
        case WaitsFor::kNone:
            break;
    }
    return "none";
}

ThreadWait wait_of(const std::optional<SystemCall>& call) {
    if (!call) {
        return {};
    }
    const auto* known = std::ranges::find_if(kKnownCalls, [&call](const KnownCall& one) {
        return static_cast<std::uint64_t>(one.number) == call->number;
    });
    if (known == kKnownCalls.end()) {
        return {.what = WaitsFor::kOther, .call = fmt::format("system call {}", call->number)};
    }
    ThreadWait wait{.what = known->what, .call = std::string(known->name)};
    if (waits_while(*call, kEventWaited)) {
        wait.what = WaitsFor::kEvent;
        wait.event = call->arguments[0] - kEventValue;
    } else if (wait.what == WaitsFor::kFutex) {
        wait.address = call->arguments[0];
    } else if (wait.what == WaitsFor::kDescriptor) {
        wait.descriptor = static_cast<std::uint32_t>(call->arguments[0]);
    }
    return wait;
}

bool waits_for_mutex(const std::optional<SystemCall>& call, std::span<const std::string> native) {
    // What waits in the kernel for it, called by what locks it; a symbol may have a version.
    constexpr std::size_t kWithin = 4;
    return call && waits_while(*call, kHeldAndWaited) &&
           std::ranges::any_of(
               native.first(std::min(native.size(), kWithin)), [](const std::string& name) {
                   return name.find("pthread_mutex_lock") != std::string::npos ||
                          name.find("pthread_mutex_timedlock") != std::string::npos ||
                          name.find("pthread_mutex_clocklock") != std::string::npos;
               });
}

std::optional<std::uint64_t> mutex_owner(std::span<const std::byte, 12> bytes) {
    std::array<std::uint32_t, 3> words{};  // __lock, __count, __owner
    std::memcpy(words.data(), bytes.data(), bytes.size());
    return words[0] == kHeldAndWaited && words[2] != 0 ? std::optional<std::uint64_t>(words[2])
                                                       : std::nullopt;
}

}  // namespace beamdump::sampler
