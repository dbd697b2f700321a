#include "cli/own_resources.h"

#include <libdump/base/descriptor.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libdump/base/write_all.h>
#include <libvm/target/process/cgroups.h>
#include <libvm/target/process/kept_files.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <malloc.h>
#include <span>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace beamdump::watch {
namespace {

constexpr std::string_view kController = "memory";

/// Where cgroups of the memory controller are: of version 1 its own mount, else version 2's.
Result<std::filesystem::path> mount_point(const std::filesystem::path& root) {
    const auto mounts =
        target::parse_cgroup_mounts(target::read_text(root / "proc/self/mountinfo").value_or(""));
    const auto own = std::ranges::find_if(mounts, [](const target::CgroupMount& mount) {
        return !mount.unified &&
               std::ranges::find(mount.options, kController) != mount.options.end();
    });
    const auto found =
        own != mounts.end() ? own : std::ranges::find_if(mounts, &target::CgroupMount::unified);
    if (found == mounts.end()) {
        return fail(ErrorCode::kNotFound,
                    "no cgroups of the memory controller are mounted here (/proc/self/mountinfo)");
    }
    return root / found->point.relative_path();
}

}  // namespace

bool stay_in_memory() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) {
        return false;
    }
    // With a limit of nothing the kernel asks for the capability (mlock(2)): that of a user
    // namespace is not enough, and CapEff does not tell it.
    auto nothing = limit;
    nothing.rlim_cur = 0;
    const bool limited = limit.rlim_cur != RLIM_INFINITY;
    if (limited && ::setrlimit(RLIMIT_MEMLOCK, &nothing) != 0) {
        return false;
    }
    const bool locked = ::mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0;
    if (limited) {
        ::setrlimit(RLIMIT_MEMLOCK, &limit);
    }
    return locked;
}

void give_back_free_memory() {
    ::munlockall();
    ::malloc_trim(0);
    stay_in_memory();
}

Result<void> move_to_cgroup(std::string_view name, const std::filesystem::path& root) {
    ASSIGN_OR_RETURN(auto directory, mount_point(root));
    const auto failed = [&](int error_number) {
        const auto code = error_number == EACCES || error_number == EPERM || error_number == EROFS
                              ? ErrorCode::kPermission
                              : ErrorCode::kIo;
        return fail(code, fmt::format("cannot move to the cgroup {}: {}", directory.string(),
                                      system_error_text(error_number)));
    };
    for (const auto& part : std::filesystem::path(name).relative_path()) {
        directory /= part;
        constexpr mode_t kMode = 0755;
        if (::mkdir(directory.c_str(), kMode) != 0 && errno != EEXIST) {
            return failed(errno);
        }
    }
    const Descriptor members(::open((directory / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    if (!members.valid()) {
        return failed(errno);
    }
    const auto pid = std::to_string(::getpid());
    const auto written = write_all(members.get(), std::as_bytes(std::span(pid)));
    return written.error_number == 0 ? Result<void>() : failed(written.error_number);
}

}  // namespace beamdump::watch
