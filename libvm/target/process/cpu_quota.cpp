#include <libvm/target/process/cgroup_paths.h>
#include <libvm/target/process/cpu_quota.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace beamdump::target {
namespace {

/// Threads of this process that may run at one time while a node is held: the one that copies and
/// those that compress.
constexpr unsigned kMaxThreads = 4;

std::string text_of(const std::filesystem::path& file) {
    const std::ifstream stream(file);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

std::optional<CpuQuota> quota_of(const CgroupDirectory& cgroup) {
    // "10000 100000" or "max 100000", in microseconds; version 1 has two files and -1 for no limit.
    std::istringstream text(cgroup.unified ? text_of(cgroup.directory / "cpu.max")
                                           : text_of(cgroup.directory / "cpu.cfs_quota_us") + " " +
                                                 text_of(cgroup.directory / "cpu.cfs_period_us"));
    std::int64_t runtime_us = 0;
    std::int64_t period_us = 0;
    if (!(text >> runtime_us >> period_us) || runtime_us <= 0 || period_us <= 0) {
        return std::nullopt;
    }
    return CpuQuota{std::chrono::microseconds(runtime_us), std::chrono::microseconds(period_us)};
}

double share(const CpuQuota& quota) {
    return static_cast<double>(quota.runtime.count()) / static_cast<double>(quota.period.count());
}

unsigned processors() {
    return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

std::optional<CpuQuota> CpuQuota::of_this_process(const std::filesystem::path& root) {
    const auto memberships = parse_cgroup_memberships(text_of(root / "proc/self/cgroup"));
    const auto mounts = parse_cgroup_mounts(text_of(root / "proc/self/mountinfo"));
    std::optional<CpuQuota> tightest;
    for (const auto& cgroup : cgroups_of("cpu", mounts, memberships, root)) {
        const auto quota = quota_of(cgroup);
        if (quota && share(*quota) < processors() &&
            (!tightest || share(*quota) < share(*tightest))) {
            tightest = quota;
        }
    }
    return tightest;
}

std::chrono::nanoseconds CpuQuota::unthrottled() const {
    return runtime / (1 + std::min(processors(), kMaxThreads));
}

}  // namespace beamdump::target
