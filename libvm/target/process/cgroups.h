#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::target {

/// A mounted cgroup hierarchy: a line of /proc/self/mountinfo (Linux'
/// Documentation/filesystems/proc.rst).
struct CgroupMount {
    std::string root;  ///< the cgroup that is shown at `point`
    std::filesystem::path point;
    bool unified = false;              ///< version 2
    std::vector<std::string> options;  ///< of version 1: its controllers, among others
};

/// A line of /proc/PID/cgroup: "4:memory:/docker/1f" or, of version 2, "0::/system.slice".
struct CgroupMembership {
    std::vector<std::string> controllers;  ///< empty for version 2
    std::string path;
};

/// Lines that are something else, or not understood, are left out.
std::vector<CgroupMount> parse_cgroup_mounts(std::string_view mountinfo);
std::vector<CgroupMembership> parse_cgroup_memberships(std::string_view text);

/// Where `path` is mounted, and each directory above it up to the mount point, the lowest first.
/// Empty where the mount does not show it.
std::vector<std::filesystem::path> cgroup_directories(const CgroupMount& mount,
                                                      std::string_view path);

/// One cgroup that counts a process's memory or tasks, as mounted here.
struct CgroupDirectory {
    std::filesystem::path directory;
    std::string name;      ///< as /proc/PID/cgroup has it
    bool unified = false;  ///< version 2
    friend bool operator==(const CgroupDirectory&, const CgroupDirectory&) = default;
};

/// The cgroups of one controller in which a process is, from its own up; those that are not mounted
/// here are left out. `root` is where the file system begins.
std::vector<CgroupDirectory> cgroups_of(std::string_view controller,
                                        const std::vector<CgroupMount>& mounts,
                                        const std::vector<CgroupMembership>& memberships,
                                        const std::filesystem::path& root);

/// How much processor time this process's cgroups may use: `runtime` in each `period`. When it is
/// used up the kernel lets none of their threads run until the next period, also while one holds a
/// node.
struct CpuQuota {
    std::chrono::nanoseconds runtime{};
    std::chrono::nanoseconds period{};

    /// The tightest that is visible here (Linux' Documentation/admin-guide/cgroup-v2.rst, cpu.max;
    /// Documentation/scheduler/sched-bwc.rst). Nothing: none that is less than the processors.
    static std::optional<CpuQuota> of_this_process(const std::filesystem::path& root = "/");

    /// For how long this process, with all its threads, can run from the beginning of a period on.
    [[nodiscard]] std::chrono::nanoseconds unthrottled() const;
};

}  // namespace beamdump::target
