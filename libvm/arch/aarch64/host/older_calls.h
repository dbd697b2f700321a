#pragma once

/// Numbers of system calls that only older architectures have: aarch64 has ppoll, pselect6,
/// renameat, unlinkat and epoll_pwait in their place (asm-generic/unistd.h). No call has this
/// number.
namespace beamdump::arch::host::older_calls {

inline constexpr long kPoll = -1;
inline constexpr long kSelect = -1;
inline constexpr long kPause = -1;
inline constexpr long kRename = -1;
inline constexpr long kUnlink = -1;
inline constexpr long kEpollWait = -1;

}  // namespace beamdump::arch::host::older_calls
