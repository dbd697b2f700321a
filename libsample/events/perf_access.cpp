#include <libsample/events/perf_access.h>
#include <libvm/target/process/proc_directory.h>

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace beamdump::sampler {
namespace {

constexpr const char* kParanoid = "/proc/sys/kernel/perf_event_paranoid";
/// Above it Debian's kernels ask for CAP_SYS_ADMIN, whatever process is sampled (their patch
/// "security,perf: Allow further restriction of perf_event_open"; seen with 6.1). To Linux itself
/// higher levels are this one.
constexpr int kOwnProcesses = 2;

/// The kernel looks at the flags first, so it answers EINVAL whatever is permitted.
bool call_reaches_kernel() {
    constexpr unsigned long kNoSuchFlags = ~0UL;
    return ::syscall(SYS_perf_event_open, nullptr, 0, -1, -1, kNoSuchFlags) < 0 && errno == EINVAL;
}

std::string setting(const PerfAccess& access) {
    return access.paranoid ? fmt::format("kernel.perf_event_paranoid is {}", *access.paranoid)
                           : std::string("kernel.perf_event_paranoid cannot be read");
}

std::string reason(const PerfAccess& access) {
    if (!access.reaches_kernel) {
        return access.filtered
                   ? "a seccomp filter on this program forbids perf_event_open: run it outside the "
                     "container, or allow that system call in the container's seccomp profile"
                   : "something on this system forbids perf_event_open before the kernel decides: "
                     "run it outside the sandbox";
    }
    const bool restricted = access.paranoid.value_or(0) > kOwnProcesses;
    if (access.capable && !access.administers && restricted) {
        return fmt::format(
            "{}: above {} Debian's kernels ask for CAP_SYS_ADMIN, which this program lacks; set it "
            "to {}",
            setting(access), kOwnProcesses, kOwnProcesses);
    }
    if (access.capable) {
        return fmt::format(
            "this program has the capability, so a security module (SELinux, AppArmor) forbids it, "
            "or a user namespace in which the capability does not count; {}: look at the system's "
            "audit log, or run it outside the container",
            setting(access));
    }
    if (access.paranoid && *access.paranoid <= kOwnProcesses) {
        return fmt::format(
            "{}, which lets a user sample only processes that it may trace: run as the node's own "
            "user, as root, or with CAP_PERFMON",
            setting(access));
    }
    return fmt::format(
        "{}: run as root, or set it to {} and run as the node's own user or with CAP_PERFMON",
        setting(access), kOwnProcesses);
}

}  // namespace

PerfAccess perf_access() {
    PerfAccess access;
    std::ifstream file(kParanoid);
    if (int value = 0; file >> value) {
        access.paranoid = value;
    }
    std::error_code ignored;
    access.kernel_has_events = std::filesystem::exists(kParanoid, ignored);
    access.reaches_kernel = call_reaches_kernel();
    access.filtered = ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER;
    if (const auto self = target::process_facts(::getpid())) {
        const auto has = [&](unsigned capability) {
            return (self->effective_capabilities >> capability & 1U) != 0;
        };
        access.administers = has(CAP_SYS_ADMIN);
        access.capable = access.administers || has(CAP_PERFMON);
    }
    return access;
}

Error perf_refused(const PerfAccess& access, int error_number) {
    if (error_number == ENOSYS && !access.kernel_has_events) {
        return {ErrorCode::kUnsupported, "this kernel has no perf events"};
    }
    return {ErrorCode::kPermission,
            fmt::format("sampling by perf events is forbidden: {}", reason(access))};
}

}  // namespace beamdump::sampler
