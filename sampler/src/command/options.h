#pragma once

#include "alloc/collect_alloc.h"
#include "profile/collect_profile.h"
#include "stacks/collect.h"

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

/// How a profile is written.
enum class ProfileFormat : std::uint8_t { kText, kJson, kFolded, kSpeedscope, kPprof };

struct ProfileCommand {
    NodeOptions node;
    ProfileOptions options;
    ProfileFormat format = ProfileFormat::kText;
    std::size_t limit = 30;  ///< rows of a table
};

struct AllocCommand {
    NodeOptions node;
    AllocOptions options;
    std::size_t limit = 30;  ///< rows of the table
};

struct PerfMapCommand {
    NodeOptions node;
};

/// Requested text (--help, --version) instead of a command.
struct Answer {
    std::string text;
};

using Command = std::variant<Answer, StacksCommand, ProfileCommand, AllocCommand, PerfMapCommand>;

/// Parses the command line (without the program's name). Error: kUsage.
Result<Command> parse_options(const std::vector<std::string>& arguments);

}  // namespace beamdump::sampler
