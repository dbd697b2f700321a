#include <libvm/target/process/cgroups.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

namespace beamdump::target {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const auto part = text.substr(0, text.find(separator));
        if (!part.empty()) {
            parts.emplace_back(part);
        }
        text.remove_prefix(std::min(part.size() + 1, text.size()));
    }
    return parts;
}

/// mountinfo writes blanks, tabs, line ends and backslashes as three octal digits.
std::string unescaped(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto digits = text.substr(i + 1 > text.size() ? text.size() : i + 1, 3);
        const bool octal = text[i] == '\\' && digits.size() == 3 &&
                           std::ranges::all_of(digits, [](char c) { return c >= '0' && c < '8'; });
        if (octal) {
            plain +=
                static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + digits[2] - '0');
            i += 3;
        } else {
            plain += text[i];
        }
    }
    return plain;
}

// "id parent device root point options [more...] - type source options"
std::optional<CgroupMount> parse_mount(std::string_view line) {
    const auto fields = split(line, ' ');
    const auto dash = std::ranges::find(fields, "-");
    if (dash - fields.begin() < 6 || fields.end() - dash < 4) {
        return std::nullopt;
    }
    const auto& type = *(dash + 1);
    if (type != "cgroup" && type != "cgroup2") {
        return std::nullopt;
    }
    return CgroupMount{unescaped(fields[3]), unescaped(fields[4]), type == "cgroup2",
                       split(*(dash + 3), ',')};
}

}  // namespace

std::vector<CgroupMount> parse_cgroup_mounts(std::string_view mountinfo) {
    std::vector<CgroupMount> mounts;
    for (const auto& line : split(mountinfo, '\n')) {
        if (auto mount = parse_mount(line)) {
            mounts.push_back(std::move(*mount));
        }
    }
    return mounts;
}

std::vector<CgroupMembership> parse_cgroup_memberships(std::string_view text) {
    std::vector<CgroupMembership> memberships;
    for (const std::string_view line : split(text, '\n')) {
        const auto first = line.find(':');
        const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
        if (second != std::string_view::npos) {
            memberships.push_back({split(line.substr(first + 1, second - first - 1), ','),
                                   std::string(line.substr(second + 1))});
        }
    }
    return memberships;
}

std::vector<std::filesystem::path> cgroup_directories(const CgroupMount& mount,
                                                      std::string_view path) {
    const std::string_view root = mount.root == "/" ? std::string_view() : mount.root;
    const bool below = path == root || path.starts_with(std::string(root) + "/");
    // "/../other": of another cgroup namespace.
    if (!below || path.find("/..") != std::string_view::npos) {
        return {};
    }
    std::vector<std::filesystem::path> directories;
    auto directory = mount.point;
    directories.push_back(directory);
    for (const auto& part : split(path.substr(root.size()), '/')) {
        directory /= part;
        directories.push_back(directory);
    }
    std::ranges::reverse(directories);
    return directories;
}

std::vector<CgroupDirectory> cgroups_of(std::string_view controller,
                                        const std::vector<CgroupMount>& mounts,
                                        const std::vector<CgroupMembership>& memberships,
                                        const std::filesystem::path& root) {
    std::vector<CgroupDirectory> found;
    for (const auto& membership : memberships) {
        const bool unified = membership.controllers.empty();
        if (!unified &&
            std::ranges::find(membership.controllers, controller) == membership.controllers.end()) {
            continue;
        }
        const auto mount = std::ranges::find_if(mounts, [&](const CgroupMount& candidate) {
            const bool fits =
                unified ? candidate.unified
                        : !candidate.unified && std::ranges::find(candidate.options, controller) !=
                                                    candidate.options.end();
            return fits && !cgroup_directories(candidate, membership.path).empty();
        });
        if (mount == mounts.end()) {
            continue;
        }
        std::filesystem::path name = membership.path;
        for (const auto& directory : cgroup_directories(*mount, membership.path)) {
            found.push_back({root / directory.relative_path(), name.string(), unified});
            name = name.parent_path();
        }
    }
    return found;
}

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
