#include <libvm/arch/aarch64/system_calls.h>

#include <algorithm>
#include <array>
#include <sys/syscall.h>

namespace beamdump::arch::aarch64 {
namespace {

/// Linux' include/uapi/asm-generic/unistd.h. They are numbers of the node's, which may be of
/// another architecture than this program.
enum Number : std::int64_t {
    kEpollPwait = 22,
    kFlock = 32,
    kOpenat = 56,
    kRead = 63,
    kWrite = 64,
    kReadv = 65,
    kWritev = 66,
    kPread64 = 67,
    kPwrite64 = 68,
    kPreadv = 69,
    kPwritev = 70,
    kPselect6 = 72,
    kPpoll = 73,
    kFsync = 82,
    kFdatasync = 83,
    kNanosleep = 101,
    kClockNanosleep = 115,
    kRestartSyscall = 128,
    kAccept = 202,
    kConnect = 203,
    kSendto = 206,
    kRecvfrom = 207,
    kSendmsg = 211,
    kRecvmsg = 212,
    kAccept4 = 242,
    kWait4 = 260,
};

#if defined(__aarch64__)
static_assert(kEpollPwait == SYS_epoll_pwait && kFlock == SYS_flock && kOpenat == SYS_openat &&
              kRead == SYS_read && kWrite == SYS_write && kReadv == SYS_readv &&
              kWritev == SYS_writev && kPread64 == SYS_pread64 && kPwrite64 == SYS_pwrite64 &&
              kPreadv == SYS_preadv && kPwritev == SYS_pwritev && kPselect6 == SYS_pselect6 &&
              kPpoll == SYS_ppoll && kFsync == SYS_fsync && kFdatasync == SYS_fdatasync &&
              kNanosleep == SYS_nanosleep && kClockNanosleep == SYS_clock_nanosleep &&
              kRestartSyscall == SYS_restart_syscall && kAccept == SYS_accept &&
              kConnect == SYS_connect && kSendto == SYS_sendto && kRecvfrom == SYS_recvfrom &&
              kSendmsg == SYS_sendmsg && kRecvmsg == SYS_recvmsg && kAccept4 == SYS_accept4 &&
              kWait4 == SYS_wait4);
#endif

}  // namespace

bool waits_outside(std::int64_t system_call) {
    static constexpr std::array kWaiting = {
        kRead,    kWrite,     kReadv,          kWritev,    kPread64,   kPwrite64, kPreadv,
        kPwritev, kPpoll,     kPselect6,       kSendto,    kRecvfrom,  kSendmsg,  kRecvmsg,
        kConnect, kAccept,    kAccept4,        kFsync,     kFdatasync, kOpenat,   kWait4,
        kFlock,   kNanosleep, kClockNanosleep, kEpollPwait};
    return std::ranges::find(kWaiting, system_call) != kWaiting.end();
}

bool is_restarted(std::int64_t system_call) {
    return system_call == kRestartSyscall;
}

}  // namespace beamdump::arch::aarch64
