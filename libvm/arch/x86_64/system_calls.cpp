#include <libvm/arch/x86_64/system_calls.h>

#include <algorithm>
#include <array>
#include <sys/syscall.h>

namespace beamdump::arch::x86_64 {
namespace {

/// Linux' arch/x86/entry/syscalls/syscall_64.tbl. They are numbers of the node's, which may be of
/// another architecture than this program.
enum Number : std::int64_t {
    kRead = 0,
    kWrite = 1,
    kOpen = 2,
    kPoll = 7,
    kPread64 = 17,
    kPwrite64 = 18,
    kReadv = 19,
    kWritev = 20,
    kSelect = 23,
    kNanosleep = 35,
    kConnect = 42,
    kAccept = 43,
    kSendto = 44,
    kRecvfrom = 45,
    kSendmsg = 46,
    kRecvmsg = 47,
    kWait4 = 61,
    kFlock = 73,
    kFsync = 74,
    kFdatasync = 75,
    kRestartSyscall = 219,
    kClockNanosleep = 230,
    kEpollWait = 232,
    kOpenat = 257,
    kPselect6 = 270,
    kPpoll = 271,
    kAccept4 = 288,
    kPreadv = 295,
    kPwritev = 296,
};

#if defined(__x86_64__)
static_assert(kOpen == SYS_open && kPoll == SYS_poll && kPwrite64 == SYS_pwrite64 &&
              kReadv == SYS_readv && kWritev == SYS_writev && kSelect == SYS_select &&
              kNanosleep == SYS_nanosleep && kConnect == SYS_connect && kAccept == SYS_accept &&
              kSendto == SYS_sendto && kRecvfrom == SYS_recvfrom && kSendmsg == SYS_sendmsg &&
              kRecvmsg == SYS_recvmsg && kWait4 == SYS_wait4 && kFlock == SYS_flock &&
              kFsync == SYS_fsync && kFdatasync == SYS_fdatasync && kRead == SYS_read &&
              kWrite == SYS_write && kPread64 == SYS_pread64 &&
              kRestartSyscall == SYS_restart_syscall && kClockNanosleep == SYS_clock_nanosleep &&
              kEpollWait == SYS_epoll_wait && kOpenat == SYS_openat && kPselect6 == SYS_pselect6 &&
              kPpoll == SYS_ppoll && kAccept4 == SYS_accept4 && kPreadv == SYS_preadv &&
              kPwritev == SYS_pwritev);
#endif

}  // namespace

bool waits_outside(std::int64_t system_call) {
    static constexpr std::array kWaiting = {
        kRead,    kWrite,     kReadv,   kWritev,  kPread64,  kPwrite64,  kPreadv,
        kPwritev, kPoll,      kPpoll,   kSelect,  kPselect6, kNanosleep, kClockNanosleep,
        kSendto,  kRecvfrom,  kSendmsg, kRecvmsg, kConnect,  kAccept,    kAccept4,
        kFsync,   kFdatasync, kOpen,    kOpenat,  kWait4,    kEpollWait, kFlock};
    return std::ranges::find(kWaiting, system_call) != kWaiting.end();
}

bool is_restarted(std::int64_t system_call) {
    return system_call == kRestartSyscall;
}

}  // namespace beamdump::arch::x86_64
