#pragma once

#include <libdump/base/error.h>

#include <sys/types.h>
#include <vector>

namespace beamdump::target {

/// The threads of a process as /proc lists them. kNotFound, kTargetDied: it is gone; kLimit: not
/// enough memory to list them; kIo.
Result<std::vector<pid_t>> threads_of(pid_t pid);

}  // namespace beamdump::target
