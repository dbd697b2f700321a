#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

namespace beamdump::target {

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
