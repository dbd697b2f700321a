#include <libdump/base/descriptor.h>
#include <libdump/base/return_if_error.h>
#include <libvm/target/process/cgroups.h>
#include <libvm/target/process/head_room.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fcntl.h>
#include <iterator>
#include <string_view>
#include <unistd.h>

namespace beamdump::target {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// No stream: this is called before the C++ library's streams are initialised, too.
std::optional<std::string> read_text(const std::filesystem::path& file) {
    const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    std::array<char, 4096> part{};
    while (opened.valid()) {
        const auto got = ::read(opened.get(), part.data(), part.size());
        if (got < 0) {
            return std::nullopt;
        }
        if (got == 0) {
            return text;
        }
        text.append(part.data(), static_cast<std::size_t>(got));
    }
    return std::nullopt;
}

std::unexpected<Error> not_understood(const std::filesystem::path& file, std::string_view text) {
    return fail(ErrorCode::kImplausible,
                fmt::format("cannot parse {}: \"{}\"", file.string(), text.substr(0, 100)));
}

/// A file that holds one number, or "max". Nothing: there is no such file (the topmost cgroup has
/// no limits), or it may not be read.
Result<std::optional<std::uint64_t>> read_number(const std::filesystem::path& file) {
    const auto text = read_text(file);
    if (!text) {
        return std::nullopt;
    }
    if (*text == "max\n") {
        return kNoLimit;
    }
    std::uint64_t number = 0;
    const auto* const end = text->data() + text->size();
    const auto parsed = std::from_chars(text->data(), end, number);
    if (parsed.ec != std::errc() || std::string_view(parsed.ptr, end) != "\n") {
        return not_understood(file, *text);
    }
    return number;
}

/// One limit file of a cgroup beside what is used of it.
struct Usage {
    std::string_view limit_file;
    std::string_view used_file;
};

/// Lowers `least` to what `usage` leaves, with `reclaimable` to be had beyond it.
Result<void> consider(const CgroupDirectory& cgroup, const Usage& usage, bool bytes,
                      std::uint64_t enough, Room& least) {
    ASSIGN_OR_RETURN(const auto limit, read_number(cgroup.directory / usage.limit_file));
    ASSIGN_OR_RETURN(const auto used, read_number(cgroup.directory / usage.used_file));
    if (!limit || !used || *limit == kNoLimit) {
        return {};
    }
    auto room = *limit - std::min(*limit, *used);
    if (bytes && room < enough) {
        const auto stat = read_text(cgroup.directory / "memory.stat").value_or("");
        const auto cache =
            listed_number(stat, cgroup.unified ? "inactive_file" : "total_inactive_file");
        const auto in_use = *used - std::min(*used, cache.value_or(0));
        room = *limit - std::min(*limit, in_use);
    }
    if (room < least.amount) {
        const auto group = read_number(cgroup.directory / "memory.oom.group");
        least.amount = room;
        least.limit = fmt::format("{} of cgroup {} is {}", usage.limit_file, cgroup.name,
                                  bytes ? mebibytes_text(*limit) : fmt::to_string(*limit));
        least.ends_group = bytes && group && group->value_or(0) == 1;
    }
    return {};
}

}  // namespace

std::optional<std::uint64_t> listed_number(std::string_view text, std::string_view name) {
    while (!text.empty()) {
        auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (!line.starts_with(name) || line.size() == name.size()) {
            continue;
        }
        line.remove_prefix(name.size());
        const auto digits = line.find_first_not_of(": ");
        std::uint64_t number = 0;
        if (digits == 0 || digits == std::string_view::npos ||
            std::from_chars(line.data() + digits, line.data() + line.size(), number).ec !=
                std::errc()) {
            continue;
        }
        return number;
    }
    return std::nullopt;
}

Result<HeadRoom> HeadRoom::of(pid_t pid, const std::filesystem::path& root) {
    HeadRoom room;
    room.root_ = root;
    const auto file = root / "proc" / std::to_string(pid) / "cgroup";
    const auto text = read_text(file);
    if (!text) {
        return fail(ErrorCode::kTargetDied,
                    fmt::format("cannot read {}: the process has exited", file.string()));
    }
    const auto memberships = parse_cgroup_memberships(*text);
    const auto mounts = parse_cgroup_mounts(read_text(root / "proc/self/mountinfo").value_or(""));
    room.memory_ = cgroups_of("memory", mounts, memberships, root);
    room.tasks_ = cgroups_of("pids", mounts, memberships, root);
    return room;
}

HeadRoom HeadRoom::shared_with(const HeadRoom& other) const {
    HeadRoom shared;
    shared.root_ = root_;
    const auto copy_common = [](const auto& from, const auto& also_in, auto& into) {
        std::ranges::copy_if(from, std::back_inserter(into), [&](const CgroupDirectory& cgroup) {
            return std::ranges::find(also_in, cgroup) != also_in.end();
        });
    };
    copy_common(memory_, other.memory_, shared.memory_);
    copy_common(tasks_, other.tasks_, shared.tasks_);
    return shared;
}

Result<Room> HeadRoom::memory(std::uint64_t enough) const {
    Room least;
    for (const auto& cgroup : memory_) {
        const std::string_view used = cgroup.unified ? "memory.current" : "memory.usage_in_bytes";
        const std::vector<std::string_view> limits =
            cgroup.unified ? std::vector<std::string_view>{"memory.max", "memory.high"}
                           : std::vector<std::string_view>{"memory.limit_in_bytes"};
        for (const auto limit : limits) {
            RETURN_IF_ERROR(consider(cgroup, {limit, used}, true, enough, least));
        }
    }
    const auto file = root_ / "proc/meminfo";
    const auto text = read_text(file).value_or("");
    const auto available = listed_number(text, "MemAvailable");
    if (!available) {
        return not_understood(file, text);
    }
    constexpr std::uint64_t kKibibyte = 1024;
    if (*available * kKibibyte < least.amount) {
        least = {*available * kKibibyte, "MemAvailable is what the machine has left", false};
    }
    return least;
}

std::optional<double> HeadRoom::memory_pressure() const {
    constexpr std::string_view kBegin = "some avg10=";
    std::vector<std::filesystem::path> files;
    if (!memory_.empty() && memory_.front().unified) {
        files.push_back(memory_.front().directory / "memory.pressure");
    }
    files.push_back(root_ / "proc/pressure/memory");
    for (const auto& file : files) {
        const auto text = read_text(file).value_or("");
        const auto at = text.find(kBegin);
        double percent = 0;
        if (at != std::string::npos &&
            std::from_chars(text.data() + at + kBegin.size(), text.data() + text.size(), percent)
                    .ec == std::errc()) {
            return percent;
        }
    }
    return std::nullopt;
}

std::vector<CgroupMemory> HeadRoom::memory_cgroups() const {
    // Version 1 has a limit of about 2^63 where there is none.
    constexpr std::uint64_t kAboveAnyLimit = std::uint64_t{1} << 62U;
    std::vector<CgroupMemory> found;
    for (const auto& cgroup : memory_) {
        const bool unified = cgroup.unified;
        const auto number = [&cgroup](std::string_view file) -> std::optional<std::uint64_t> {
            const auto read = read_number(cgroup.directory / file);
            return read && *read && **read < kAboveAnyLimit ? *read : std::nullopt;
        };
        const auto listed = [&cgroup](std::string_view file, std::string_view name) {
            return listed_number(read_text(cgroup.directory / file).value_or(""), name);
        };
        CgroupMemory memory;
        memory.name = cgroup.name;
        memory.used_bytes = number(unified ? "memory.current" : "memory.usage_in_bytes");
        memory.inactive_file_bytes =
            listed("memory.stat", unified ? "inactive_file" : "total_inactive_file");
        memory.limit_bytes = number(unified ? "memory.max" : "memory.limit_in_bytes");
        memory.high_bytes = unified ? number("memory.high") : std::nullopt;
        memory.swap_bytes =
            unified ? number("memory.swap.current") : listed("memory.stat", "total_swap");
        memory.oom_kills = listed(unified ? "memory.events" : "memory.oom_control", "oom_kill");
        memory.limit_reached = unified ? listed("memory.events", "max") : number("memory.failcnt");
        // The topmost cgroup has none of these.
        if (memory.used_bytes) {
            found.push_back(std::move(memory));
        }
    }
    return found;
}

Result<Room> HeadRoom::tasks() const {
    Room least;
    for (const auto& cgroup : tasks_) {
        RETURN_IF_ERROR(consider(cgroup, {"pids.max", "pids.current"}, false, 0, least));
    }
    return least;
}

Result<Room> HeadRoom::committable_bytes() const {
    constexpr std::uint64_t kNeverOvercommit = 2;
    ASSIGN_OR_RETURN(const auto policy, read_number(root_ / "proc/sys/vm/overcommit_memory"));
    if (policy.value_or(0) != kNeverOvercommit) {
        return Room{};
    }
    const auto file = root_ / "proc/meminfo";
    const auto text = read_text(file).value_or("");
    const auto limit = listed_number(text, "CommitLimit");
    const auto promised = listed_number(text, "Committed_AS");
    if (!limit || !promised) {
        return not_understood(file, text);
    }
    constexpr std::uint64_t kKibibyte = 1024;
    return Room{(*limit - std::min(*limit, *promised)) * kKibibyte,
                fmt::format("vm.overcommit_memory is 2 and CommitLimit {}",
                            mebibytes_text(*limit * kKibibyte)),
                false};
}

}  // namespace beamdump::target
