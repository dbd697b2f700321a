#pragma once

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::watch {

/// How many dumps are taken and kept.
struct Limits {
    std::uint64_t most = 3;  ///< dumps of one node in a window
    std::chrono::milliseconds window{24 * 3'600'000};
    std::chrono::milliseconds distance{10 * 60'000};     ///< least time between two of one node
    std::uint64_t keep = 10;                             ///< dumps in the folder, of all nodes
    std::optional<std::uint64_t> bytes{};                ///< of all dumps in the folder
    std::uint64_t free_bytes = std::uint64_t{1} << 30U;  ///< of the disk that stay free
};

/// A dump in the folder.
struct StoredDump {
    std::filesystem::path path;
    std::string node;               ///< as file_part() writes it
    std::chrono::sys_seconds at{};  ///< when it was taken
    std::uint64_t bytes = 0;
    bool unfinished = false;  ///< of a capture that did not end: it opens up to its last frame
    bool first = false;       ///< of an incident: the node had none in the window before it
};

/// A name of a node or rule as a part of a file's name: letters, digits, `_`, `@` and `.` stay.
std::string file_part(std::string_view name);
/// A time in a file's name: "20261128T063129Z".
std::string time_part(std::chrono::sys_seconds at);
std::optional<std::chrono::sys_seconds> parse_time_part(std::string_view text);
/// "NODE-20261128T063129Z-RULE.beamdump".
std::string dump_name(std::string_view node, std::chrono::sys_seconds at, std::string_view rule);
/// The node and time in such a name, with .partial behind it too; nothing for other names.
std::optional<StoredDump> parse_dump_name(std::string_view name);

/// The order in which dumps go: the oldest first, but the first of an incident after all others.
std::vector<StoredDump> in_order_of_removal(std::vector<StoredDump> dumps,
                                            std::chrono::milliseconds window);
/// Which of them have to go, in that order, so that at most `keep` with at most `bytes` remain.
std::vector<StoredDump> dumps_to_remove(const std::vector<StoredDump>& in_order, std::uint64_t keep,
                                        std::optional<std::uint64_t> bytes);

/// Where a dump may be written.
struct Admission {
    std::filesystem::path path;
    std::uint64_t most_bytes = 0;  ///< so that the disk keeps its reserve
};

/// The folder of dumps and its limits. One watcher at a time uses a folder.
class DumpStore {
  public:
    /// Makes the folder if it is not there, and locks it. kExists: another watcher uses it.
    static Result<DumpStore> open(const std::filesystem::path& folder, const Limits& limits);

    /// Room for one more dump: removes what has to go for it. `now`: of the clock that never goes
    /// back. `beyond`: bytes that the dump may have beyond Admission::most_bytes. kLimit, kNoSpace:
    /// with the reason. Counts as taken from here on.
    Result<Admission> admit(const std::string& node, std::string_view rule,
                            std::chrono::milliseconds now, std::chrono::sys_seconds at,
                            std::uint64_t beyond = 0);
    /// The dump was not made: it does not count.
    void withdraw(const std::string& node);
    /// Removes what the limits no longer allow, the dump that was just made counted.
    Result<void> prune();

    [[nodiscard]] const std::vector<std::filesystem::path>& removed() const { return removed_; }
    [[nodiscard]] Result<std::vector<StoredDump>> dumps() const;

  private:
    DumpStore(std::filesystem::path folder, const Limits& limits, Descriptor lock)
        : folder_(std::move(folder)), limits_(limits), lock_(std::move(lock)) {}
    Result<void> make_room(std::uint64_t keep);
    /// Frees the disk's reserve and room for a dump, but keeps the first dumps of incidents.
    Result<std::uint64_t> make_disk_room(std::uint64_t beyond);
    Result<void> remove(const StoredDump& dump);
    void load(const std::vector<StoredDump>& dumps, std::chrono::milliseconds now,
              std::chrono::sys_seconds at);
    [[nodiscard]] Result<std::uint64_t> free_bytes() const;

    std::filesystem::path folder_;
    Limits limits_;
    Descriptor lock_;
    /// When dumps were taken, by file_part() of the node.
    std::map<std::string, std::deque<std::chrono::milliseconds>> taken_;
    bool loaded_ = false;
    std::vector<std::filesystem::path> removed_;
};

}  // namespace beamdump::watch
