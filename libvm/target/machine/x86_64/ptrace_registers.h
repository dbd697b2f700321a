#pragma once

#include <libdump/base/error.h>

#include <sys/types.h>
#include <sys/user.h>

namespace beamdump::target {

/// A stopped thread's general registers. kTargetDied.
Result<user_regs_struct> read_registers(pid_t thread);

}  // namespace beamdump::target
