#include <libdump/base/return_if_error.h>
#include <libvm/target/process/head_room.h>
#include <libvm/target/process/proc_lines.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <string_view>
#include <utility>

namespace beamdump::target {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

std::unexpected<Error> not_understood(const std::filesystem::path& file, std::string_view text) {
    return fail(ErrorCode::kImplausible,
                fmt::format("cannot parse {}: \"{}\"", file.string(), text.substr(0, 100)));
}

/// The text of a file that holds one number, or "max". Nothing: there is no such file (the topmost
/// cgroup has no limits), or it may not be read.
Result<std::optional<std::uint64_t>> parse_number(const std::filesystem::path& file,
                                                  const std::optional<std::string>& text) {
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

Result<std::optional<std::uint64_t>> read_number(const std::filesystem::path& file) {
    return parse_number(file, read_text(file));
}

using TextOf = std::function<std::optional<std::string>(const std::filesystem::path&)>;

/// The files of one memory cgroup; what is not there, or not as documented, is absent.
class CgroupCounters {
  public:
    /// Non-owning.
    CgroupCounters(const CgroupDirectory& cgroup, TextOf text_of)
        : cgroup_(cgroup), text_of_(std::move(text_of)) {}

    [[nodiscard]] std::optional<std::uint64_t> number(std::string_view name) const {
        // Version 1 has a limit of about 2^63 where there is none.
        constexpr std::uint64_t kAboveAnyLimit = std::uint64_t{1} << 62U;
        const auto file = cgroup_.directory / name;
        const auto read = parse_number(file, text_of_(file));
        return read && *read && **read < kAboveAnyLimit ? *read : std::nullopt;
    }
    [[nodiscard]] std::optional<std::uint64_t> listed(std::string_view file,
                                                      std::string_view name) const {
        return listed_number(text_of_(cgroup_.directory / file).value_or(""), name);
    }
    /// Its name, what it uses and its limit.
    [[nodiscard]] CgroupMemory limited() const {
        const bool unified = cgroup_.unified;
        CgroupMemory memory;
        memory.name = cgroup_.name;
        memory.used_bytes = number(unified ? "memory.current" : "memory.usage_in_bytes");
        memory.limit_bytes = number(unified ? "memory.max" : "memory.limit_in_bytes");
        return memory;
    }
    [[nodiscard]] std::optional<std::uint64_t> inactive_file() const {
        return listed("memory.stat", cgroup_.unified ? "inactive_file" : "total_inactive_file");
    }
    [[nodiscard]] std::optional<std::uint64_t> limit_reached() const {
        return cgroup_.unified ? listed("memory.events", "max") : number("memory.failcnt");
    }
    [[nodiscard]] std::optional<std::uint64_t> oom_kills() const {
        return listed(cgroup_.unified ? "memory.events" : "memory.oom_control", "oom_kill");
    }

  private:
    const CgroupDirectory& cgroup_;
    TextOf text_of_;
};

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

Result<HeadRoom> HeadRoom::of(pid_t pid, const std::filesystem::path& root) {
    return kept(pid, nullptr, root);
}

Result<HeadRoom> HeadRoom::kept(pid_t pid, std::shared_ptr<KeptFiles> kept,
                                const std::filesystem::path& root) {
    HeadRoom room;
    room.root_ = root;
    room.kept_ = std::move(kept);
    room.memberships_file_ = root / "proc" / std::to_string(pid) / "cgroup";
    auto text = room.text_of(room.memberships_file_);
    if (!text) {
        return fail(ErrorCode::kTargetDied, fmt::format("cannot read {}: the process has exited",
                                                        room.memberships_file_.string()));
    }
    room.memberships_ = std::move(*text);
    const auto memberships = parse_cgroup_memberships(room.memberships_);
    const auto mounts = parse_cgroup_mounts(read_text(root / "proc/self/mountinfo").value_or(""));
    room.memory_ = cgroups_of("memory", mounts, memberships, root);
    room.tasks_ = cgroups_of("pids", mounts, memberships, root);
    return room;
}

std::optional<std::string> HeadRoom::text_of(const std::filesystem::path& file) const {
    return kept_ ? kept_->read(file) : read_text(file);
}

bool HeadRoom::holds() const {
    return text_of(memberships_file_) == memberships_;
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
    const auto available = listed_bytes(text, "MemAvailable");
    if (!available) {
        return not_understood(file, text);
    }
    if (*available < least.amount) {
        least = {*available, "MemAvailable is what the machine has left", false};
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
        const auto text = text_of(file).value_or("");
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
    std::vector<CgroupMemory> found;
    for (const auto& cgroup : memory_) {
        const bool unified = cgroup.unified;
        const CgroupCounters counters(cgroup, [this](const auto& file) { return text_of(file); });
        CgroupMemory memory = counters.limited();
        memory.inactive_file_bytes = counters.inactive_file();
        memory.high_bytes = unified ? counters.number("memory.high") : std::nullopt;
        memory.swap_bytes = unified ? counters.number("memory.swap.current")
                                    : counters.listed("memory.stat", "total_swap");
        memory.oom_kills = counters.oom_kills();
        memory.limit_reached = counters.limit_reached();
        // The topmost cgroup has none of these.
        if (memory.used_bytes) {
            found.push_back(std::move(memory));
        }
    }
    return found;
}

std::optional<CgroupMemory> HeadRoom::limited_memory() const {
    for (const auto& cgroup : memory_) {
        const CgroupCounters counters(cgroup, [this](const auto& file) { return text_of(file); });
        auto memory = counters.limited();
        if (memory.limit_bytes && memory.used_bytes) {
            memory.inactive_file_bytes = counters.inactive_file();
            return memory;
        }
    }
    return std::nullopt;
}

std::optional<std::uint64_t> HeadRoom::limit_reached() const {
    for (const auto& cgroup : memory_) {
        const CgroupCounters counters(cgroup, [this](const auto& file) { return text_of(file); });
        if (const auto times = counters.limit_reached()) {
            return times;
        }
    }
    return std::nullopt;
}

std::optional<std::uint64_t> HeadRoom::oom_kills() const {
    for (const auto& cgroup : memory_) {
        const CgroupCounters counters(cgroup, [this](const auto& file) { return text_of(file); });
        if (const auto kills = counters.oom_kills()) {
            return kills;
        }
    }
    return std::nullopt;
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
    const auto limit = listed_bytes(text, "CommitLimit");
    const auto promised = listed_bytes(text, "Committed_AS");
    if (!limit || !promised) {
        return not_understood(file, text);
    }
    return Room{*limit - std::min(*limit, *promised),
                fmt::format("vm.overcommit_memory is 2 and CommitLimit {}", mebibytes_text(*limit)),
                false};
}

}  // namespace beamdump::target
