#pragma once

#include "alloc/collect_alloc.h"
#include "calls/function_calls.h"
#include "command/top_options.h"
#include "stacks/collect.h"

#include <libdump/profile/profile_files.h>
#include <libsample/profile/collect_profile.h>

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace beamdump::sampler {

/// Options of all commands.
struct NodeOptions {
    std::string node;  ///< a pid or a name; empty: the only node there is
    std::optional<std::filesystem::path> layout;
    bool no_symbols = false;
    bool json = false;
};

struct StacksCommand {
    NodeOptions node;
    StacksOptions options;
};

struct ProfileCommand {
    NodeOptions node;
    ProfileOptions options;
    std::optional<StackFormat> format{};  ///< in place of text or JSON
    bool off_cpu = false;                 ///< where processes wait, not what uses processor time
    std::size_t limit = 30;               ///< rows of a table
};

struct AllocCommand {
    NodeOptions node;
    AllocOptions options;
    std::vector<std::string> functions{};  ///< if any: the calls of these, not all functions
    std::optional<StackFormat> format{};   ///< in place of text or JSON
    std::size_t limit = 30;                ///< rows of a table
};

struct PerfMapCommand {
    NodeOptions node;
};

struct TopCommand {
    NodeOptions node;
    TopSettings settings;
};

/// Requested text (--help, --version) instead of a command.
struct Answer {
    std::string text;
};

using Command =
    std::variant<Answer, StacksCommand, ProfileCommand, AllocCommand, PerfMapCommand, TopCommand>;

/// Parses the command line (without the program's name). Error: kUsage.
Result<Command> parse_options(const std::vector<std::string>& arguments);

}  // namespace beamdump::sampler
