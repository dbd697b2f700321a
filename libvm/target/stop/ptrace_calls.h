#pragma once

#include <libdump/base/error.h>

#include <array>
#include <cstdint>
#include <sys/types.h>
#include <sys/user.h>

namespace beamdump::target {

/// The error of a ptrace call on a thread that failed with this errno. kTargetDied, kIo.
std::unexpected<Error> ptrace_failed(const char* doing, pid_t thread, int error);

/// A stopped thread's general registers. kTargetDied.
Result<user_regs_struct> read_registers(pid_t thread);

/// Its SSE registers (ThreadRegisters::vectors). kTargetDied.
Result<std::array<std::array<std::uint64_t, 2>, 16>> read_vectors(pid_t thread);

}  // namespace beamdump::target
