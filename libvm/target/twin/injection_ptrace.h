#pragma once

#include <libdump/base/error.h>
#include <libvm/arch/host.h>

#include <sys/types.h>

namespace beamdump::target {

/// Which signals a stopped thread blocks. kTargetDied.
Result<std::uint64_t> signal_mask_of(pid_t thread);

/// Follows the threads and processes that a stopped thread makes, and stops it at each system call
/// once resumed by run_to_clone().
Result<void> follow_clones(pid_t thread);

/// Points a stopped thread to `registers`, with all signals blocked.
Result<void> set_running_point(pid_t thread, const HostRegisters& registers);

/// At which points a thread is stopped on its way to a clone.
enum class Watch : std::uint8_t {
    kEachCall,  ///< so that the reason is known if the clone fails
    kClone,     ///< fewer stops; for a thread that ends if the clone fails
};

/// Lets a stopped thread run until a clone of it has succeeded; it is then stopped in it. Gives
/// what it made, which is traced and about to stop. A SIGSTOP on its way to the node takes effect;
/// the thread still runs on. kLimit: the clone failed; the thread is behind it, or has ended. Or it
/// did not come as far until the deadline (CLOCK_MONOTONIC): it still runs, or stands on its way.
/// Nothing runs on after that. kTargetDied.
Result<pid_t> run_to_clone(pid_t thread, Watch watch, std::int64_t deadline_ns);

/// Lets a stopped thread run until it is about to return from that system call, whatever its
/// result. Errors as run_to_clone().
Result<void> run_through_call(pid_t thread, long call, std::int64_t deadline_ns);

/// Waits until a new traced thread or process is at its start. kLimit: not
/// until the deadline. kTargetDied.
Result<void> await_start(pid_t thread, std::int64_t deadline_ns);

}  // namespace beamdump::target
