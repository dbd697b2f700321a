#pragma once

#include <libdump/base/error.h>

#include <cstdint>
#include <string_view>
#include <sys/types.h>

namespace beamdump::target {

/// The rest of a "Name: rest" line of a /proc/PID/status.
std::string_view status_text(std::string_view status, std::string_view name);

/// How system calls are filtered ("Seccomp:" in proc(5)).
enum class Seccomp : std::uint8_t { kNone, kFiltered, kStrict };
Seccomp seccomp_of(pid_t thread);
/// Of all of a process's threads, each of which may have a filter of its own, the strictest.
Result<Seccomp> strictest_seccomp(pid_t pid);

/// Lets go of all of a process's threads, and of their children, that this thread traces, as soon
/// as they stand. False: some did not within two seconds. They hang in the kernel, and are resumed
/// when this process ends.
bool release_traced(pid_t pid);

}  // namespace beamdump::target
