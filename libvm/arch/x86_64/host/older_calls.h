#pragma once

#include <sys/syscall.h>

/// Numbers of system calls that only older architectures have: younger ones have others in their
/// place (asm-generic/unistd.h).
namespace beamdump::arch::host::older_calls {

inline constexpr long kPoll = SYS_poll;
inline constexpr long kSelect = SYS_select;
inline constexpr long kPause = SYS_pause;
inline constexpr long kRename = SYS_rename;
inline constexpr long kUnlink = SYS_unlink;
inline constexpr long kEpollWait = SYS_epoll_wait;

}  // namespace beamdump::arch::host::older_calls
