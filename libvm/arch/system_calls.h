#pragma once

#include <libdump/base/architecture.h>

#include <cstdint>

namespace beamdump::arch {

/// Whether a system call of that architecture, by its number, is one in which a thread waits for
/// the outside: for files, sockets, other processes or time, and none for a lock or memory.
bool waits_outside(Architecture architecture, std::int64_t system_call);

/// Whether it is one that the kernel has restarted after a stop (restart_syscall(2)).
bool is_restarted(Architecture architecture, std::int64_t system_call);

}  // namespace beamdump::arch
