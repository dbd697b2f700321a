#include "dumps/dump_store.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/decimal.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <program/command_line.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fcntl.h>
#include <regex>
#include <sys/file.h>
#include <sys/statvfs.h>

namespace beamdump::watch {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kLeastDumpBytes = std::uint64_t{1} << 20U;

std::uint64_t sum_of(const std::vector<StoredDump>& dumps) {
    std::uint64_t sum = 0;
    for (const auto& dump : dumps) {
        sum += dump.bytes;
    }
    return sum;
}

}  // namespace

std::string file_part(std::string_view name) {
    std::string part(name.substr(0, 100));
    for (auto& letter : part) {
        if (std::isalnum(static_cast<unsigned char>(letter)) == 0 && letter != '_' &&
            letter != '@' && letter != '.') {
            letter = '_';
        }
    }
    return part.empty() || part.front() == '.' ? "_" + part : part;
}

std::string time_part(std::chrono::sys_seconds at) {
    return fmt::format("{:%Y%m%dT%H%M%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(at)));
}

std::optional<std::chrono::sys_seconds> parse_time_part(std::string_view text) {
    static const std::regex pattern(R"((\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z)");
    std::match_results<std::string_view::const_iterator> parts;
    if (!std::regex_match(text.begin(), text.end(), parts, pattern)) {
        return std::nullopt;
    }
    const auto number = [&parts](std::size_t part) {
        return static_cast<unsigned>(decimal_number(parts[part].str()).value_or(0));
    };
    const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(number(1))),
                                          std::chrono::month(number(2)),
                                          std::chrono::day(number(3))};
    return day.ok()
               ? std::optional(std::chrono::sys_days(day) + std::chrono::hours(number(4)) +
                               std::chrono::minutes(number(5)) + std::chrono::seconds(number(6)))
               : std::nullopt;
}

std::string dump_name(std::string_view node, std::chrono::sys_seconds at, std::string_view rule) {
    return fmt::format("{}-{}-{}.beamdump", file_part(node), time_part(at), file_part(rule));
}

std::optional<StoredDump> parse_dump_name(std::string_view name) {
    static const std::regex pattern(R"(([\w@.]+)-(\w+)-[\w@.]+\.beamdump(\.partial)?)");
    std::match_results<std::string_view::const_iterator> parts;
    if (!std::regex_match(name.begin(), name.end(), parts, pattern)) {
        return std::nullopt;
    }
    const auto at = parse_time_part(parts[2].str());
    if (!at) {
        return std::nullopt;
    }
    StoredDump dump;
    dump.node = parts[1].str();
    dump.at = *at;
    dump.unfinished = parts[3].matched;
    return dump;
}

std::vector<StoredDump> in_order_of_removal(std::vector<StoredDump> dumps, milliseconds window) {
    std::ranges::sort(dumps, {},
                      [](const StoredDump& dump) { return std::pair(dump.at, dump.path); });
    std::map<std::string, std::chrono::sys_seconds> last;
    for (auto& dump : dumps) {
        const auto before = last.find(dump.node);
        dump.first = before == last.end() || dump.at - before->second > window;
        last[dump.node] = dump.at;
    }
    std::ranges::stable_sort(dumps, {}, &StoredDump::first);
    return dumps;
}

std::vector<StoredDump> dumps_to_remove(const std::vector<StoredDump>& in_order, std::uint64_t keep,
                                        std::optional<std::uint64_t> bytes) {
    auto used = sum_of(in_order);
    std::vector<StoredDump> removed;
    for (const auto& dump : in_order) {
        if (in_order.size() - removed.size() <= keep && (!bytes || used <= *bytes)) {
            break;
        }
        removed.push_back(dump);
        used -= dump.bytes;
    }
    return removed;
}

Result<DumpStore> DumpStore::open(const std::filesystem::path& folder, const Limits& limits) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
        return fail(ErrorCode::kIo,
                    fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
    }
    const auto file = folder / ".beamdump-watch.lock";
    Descriptor lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock.valid()) {
        return fail(ErrorCode::kIo, fmt::format("cannot write into the folder {}: {}",
                                                folder.string(), system_error_text(errno)));
    }
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
        return fail(ErrorCode::kExists,
                    fmt::format("another beamdump-watch writes its dumps to {}: use another folder",
                                folder.string()));
    }
    return DumpStore(folder, limits, std::move(lock));
}

Result<std::vector<StoredDump>> DumpStore::dumps() const {
    std::vector<StoredDump> dumps;
    std::error_code error;
    for (auto entry = std::filesystem::directory_iterator(folder_, error);
         !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
        auto dump = parse_dump_name(entry->path().filename().string());
        std::error_code gone;
        const auto bytes = entry->file_size(gone);
        if (dump && !gone) {
            dump->path = entry->path();
            dump->bytes = bytes;
            dumps.push_back(std::move(*dump));
        }
    }
    if (error) {
        return fail(ErrorCode::kIo, fmt::format("cannot list the folder {}: {}", folder_.string(),
                                                error.message()));
    }
    return dumps;
}

Result<std::uint64_t> DumpStore::free_bytes() const {
    struct statvfs facts{};
    if (::statvfs(folder_.c_str(), &facts) != 0) {
        return fail(ErrorCode::kIo, fmt::format("cannot see how much of {} is free: {}",
                                                folder_.string(), system_error_text(errno)));
    }
    return std::uint64_t{facts.f_bavail} * facts.f_frsize;
}

Result<void> DumpStore::remove(const StoredDump& dump) {
    std::error_code error;
    if (!std::filesystem::remove(dump.path, error) && error) {
        return fail(ErrorCode::kIo,
                    fmt::format("cannot remove {}: {}", dump.path.string(), error.message()));
    }
    removed_.push_back(dump.path);
    return {};
}

Result<void> DumpStore::make_room(std::uint64_t keep) {
    ASSIGN_OR_RETURN(auto all, dumps());
    const auto in_order = in_order_of_removal(std::move(all), limits_.window);
    for (const auto& dump : dumps_to_remove(in_order, keep, limits_.bytes)) {
        RETURN_IF_ERROR(remove(dump));
    }
    return {};
}

Result<std::uint64_t> DumpStore::make_disk_room(std::uint64_t beyond) {
    const auto needed = limits_.free_bytes + kLeastDumpBytes + beyond;
    ASSIGN_OR_RETURN(auto all, dumps());
    const auto in_order = in_order_of_removal(std::move(all), limits_.window);
    ASSIGN_OR_RETURN(auto free, free_bytes());
    for (const auto& dump : in_order) {
        if (free >= needed || dump.first) {
            break;
        }
        RETURN_IF_ERROR(remove(dump));
        ASSIGN_OR_RETURN(free, free_bytes());
    }
    if (free < needed) {
        return fail(
            ErrorCode::kNoSpace,
            fmt::format("{} of the disk of {} are free, of which {} stay free", bytes_text(free),
                        folder_.string(), bytes_text(limits_.free_bytes)));
    }
    return free;
}

void DumpStore::load(const std::vector<StoredDump>& dumps, milliseconds now,
                     std::chrono::sys_seconds at) {
    for (const auto& dump : dumps) {
        // One of the future is one of a clock that jumped.
        taken_[dump.node].push_back(now - std::max(milliseconds(0), milliseconds(at - dump.at)));
    }
    for (auto& [node, times] : taken_) {
        std::ranges::sort(times);
    }
    loaded_ = true;
}

Result<Admission> DumpStore::admit(const std::string& node, std::string_view rule, milliseconds now,
                                   std::chrono::sys_seconds at, std::uint64_t beyond) {
    removed_.clear();
    if (!loaded_) {
        ASSIGN_OR_RETURN(const auto all, dumps());
        load(all, now, at);
    }
    auto& times = taken_[file_part(node)];
    while (!times.empty() && now - times.front() >= limits_.window) {
        times.pop_front();
    }
    if (times.size() >= limits_.most) {
        return fail(
            ErrorCode::kLimit,
            fmt::format("there are {} of this node in {} already (limit: most)",
                        counted(times.size(), "dump"), program::duration_text(limits_.window)));
    }
    if (!times.empty() && now - times.back() < limits_.distance) {
        return fail(
            ErrorCode::kLimit,
            fmt::format("the last dump of this node is {} old, less than {} (limit: "
                        "distance)",
                        program::duration_text(milliseconds((now - times.back()) / 1000 * 1000)),
                        program::duration_text(limits_.distance)));
    }
    RETURN_IF_ERROR(make_room(std::max<std::uint64_t>(limits_.keep, 1) - 1));
    ASSIGN_OR_RETURN(const auto free, make_disk_room(beyond));
    times.push_back(now);
    auto most = free - limits_.free_bytes - beyond;
    if (limits_.bytes) {
        most = std::min(most, *limits_.bytes > beyond ? *limits_.bytes - beyond : 1);
    }
    return Admission{folder_ / dump_name(node, at, rule), most};
}

void DumpStore::withdraw(const std::string& node) {
    if (auto& times = taken_[file_part(node)]; !times.empty()) {
        times.pop_back();
    }
}

Result<void> DumpStore::prune() {
    removed_.clear();
    return make_room(limits_.keep);
}

}  // namespace beamdump::watch
