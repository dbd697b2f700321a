#pragma once

#include <libdump/base/error.h>
#include <libvm/target/process/proc_directory.h>
#include <libvm/target/process/threads.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace beamdump::target {

/// How system calls are filtered ("Seccomp:" in proc(5)).
enum class Seccomp : std::uint8_t { kNone, kFiltered, kStrict };
Seccomp seccomp_of(pid_t thread);
/// The strictest of all of a process's threads, each of which may have a filter of its own.
Result<Seccomp> strictest_seccomp(pid_t pid);

/// Lets go of all of a process's threads, and of their children, that this thread traces, as soon
/// as they stand; `before` is called for each, right before. False: some did not within two
/// seconds. They hang in the kernel, and are resumed when this process ends.
bool release_traced(pid_t pid, const std::function<void(pid_t, const ThreadStatus&)>& before);

/// Whether a process or thread is still in the process table; a zombie is.
bool listed(const ProcDirectory& process);

/// Waits until threads of a process and twins of it, which were let go, are gone; while the process
/// is stopped by a signal they cannot go, and are not waited for. False: one is still there after
/// ten seconds.
bool await_gone(std::span<const ProcDirectory> made);

/// A twin that a process has: a child of one of its threads of these names. A twin that nobody
/// holds any more is about to end: that is waited for, ten seconds at most. kExists: it stays, and
/// whose it is.
Result<void> await_no_twin(pid_t pid, std::span<const std::string> threads);
/// The twin that a thread of a process waits for, if any, as await_no_twin() says it. kLimit: it is
/// about to end.
std::unexpected<Error> twin_of(pid_t pid, pid_t reaper);

}  // namespace beamdump::target
