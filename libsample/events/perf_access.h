#pragma once

#include <libdump/base/error.h>

#include <optional>

namespace beamdump::sampler {

/// What decides whether this program may open perf events (Linux, Documentation/admin-guide/
/// perf-security.rst).
struct PerfAccess {
    std::optional<int> paranoid{};  ///< kernel.perf_event_paranoid; nothing: it cannot be read
    bool kernel_has_events = true;  ///< the kernel has that setting
    bool reaches_kernel = true;     ///< the system call is not refused on its way
    bool filtered = false;          ///< a seccomp filter is on this program
    bool capable = false;           ///< CAP_PERFMON or CAP_SYS_ADMIN
    bool administers = false;       ///< CAP_SYS_ADMIN
};

/// Looks up the facts; what cannot be found out keeps its default.
PerfAccess perf_access();

/// Why perf_event_open(2) failed with EPERM, EACCES or ENOSYS, and what to do. kPermission, or
/// kUnsupported: the kernel has no perf events.
Error perf_refused(const PerfAccess& access, int error_number);

}  // namespace beamdump::sampler
