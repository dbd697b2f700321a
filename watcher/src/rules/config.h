#pragma once

#include "dumps/dump_store.h"
#include "rules/rule.h"

#include <libdump/base/error.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::watch {

/// What a watcher does.
struct Config {
    std::string node{};  ///< as on a command line; empty: the only one that runs
    std::chrono::milliseconds interval{1000};
    /// Between two readings of every process, for the quantities that need them.
    std::chrono::milliseconds scan_interval{10'000};
    std::filesystem::path folder{"."};
    Limits limits{};
    std::vector<std::string> capture{};  ///< options of every capture, before the rule's
    std::vector<Rule> rules{};
};

/// Reads a file in TOML (docs/watch.md). `name`: for errors. kUsage: with the line and what is
/// allowed there.
Result<Config> parse_config(std::string_view text, const std::string& name);
/// kNotFound, kPermission, kIo, and errors of parse_config().
Result<Config> read_config(const std::filesystem::path& file);

/// A rule of the command line: "memory > 90%", "mailbox > 10000", "resident grows 100MiB/10m".
/// kUsage.
Result<Rule> parse_rule(std::string_view text);

}  // namespace beamdump::watch
