#pragma once

#include <libdump/base/error.h>
#include <libvm/arch/common/registers.h>

#include <sys/types.h>

namespace beamdump::target {

/// The error of a ptrace call on a thread that failed with this errno. kTargetDied, kIo.
std::unexpected<Error> ptrace_failed(const char* doing, pid_t thread, int error);

/// A stopped thread's registers; those of vectors only outside of a system call, and zeros where
/// the kernel does not give them. By the architecture's own part. kTargetDied.
Result<arch::ThreadRegisters> read_thread_registers(pid_t thread);

}  // namespace beamdump::target
