#pragma once

#include "dumps/dump_store.h"
#include "rules/rule.h"

#include <libdump/base/error.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace beamdump::watch {

/// What is done with a crash dump that a node writes.
struct CrashDumps {
    enum class Take : std::uint8_t { kConvert, kRedact, kIgnore };
    Take take = Take::kConvert;
    std::string policy = "structure";      ///< of kRedact, as beamdump-analyze redact has it
    bool remove = false;                   ///< the original, once its dump is complete
    std::optional<std::string> command{};  ///< as Rule::command
};

/// What a watcher does.
struct Config {
    /// As on a command line: names, patterns, process ids; empty: the only one that runs.
    std::vector<std::string> nodes{};
    bool all = false;  ///< every node of this machine
    std::chrono::milliseconds interval{1000};
    /// Between two readings of every process, for the quantities that need them; a recording
    /// spreads one over so long.
    std::chrono::milliseconds scan_interval{10'000};
    std::filesystem::path folder{"."};
    Limits limits{};
    std::vector<std::string> capture{};  ///< options of every capture, before the rule's
    CrashDumps crash_dumps{};
    /// How long readings are kept in a recording; 0: there is none.
    std::chrono::milliseconds record{3'600'000};
    /// Samples a second of the profile in a recording; 0: there is none.
    std::uint32_t record_profile = 0;
    /// The cgroup that the watcher moves to, by its name below what is mounted; empty: none.
    std::string cgroup{};
    std::vector<Rule> rules{};

    /// Whether several nodes may be watched.
    [[nodiscard]] bool several() const;
    /// Whether this is one of them.
    [[nodiscard]] bool means(const std::string& name, pid_t pid) const;
};

/// Config::record of a time, or of "off".
std::optional<std::chrono::milliseconds> record_span_named(std::string_view text);

/// Config::record_profile of a number, or of "off".
std::optional<std::uint32_t> profile_rate_named(std::string_view text);

/// Whether this can be Config::cgroup: a path without "..", below what is mounted.
bool is_cgroup_name(std::string_view text);
/// What it is, for errors.
inline constexpr auto kCgroupNames = "a name of a cgroup, such as beamdump or /agents/beamdump";

/// "convert", "redact" or "ignore".
std::optional<CrashDumps::Take> crash_dumps_named(std::string_view name);

/// Reads a file in TOML (docs/watch.md). `name`: for errors. kUsage: with the line and what is
/// allowed there.
Result<Config> parse_config(std::string_view text, const std::string& name);
/// kNotFound, kPermission, kIo, and errors of parse_config().
Result<Config> read_config(const std::filesystem::path& file);

/// A rule of the command line: "memory > 90%", "mailbox > 10000", "resident grows 100MiB/10m".
/// kUsage.
Result<Rule> parse_rule(std::string_view text);

}  // namespace beamdump::watch
