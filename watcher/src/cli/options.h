#pragma once

#include "rules/config.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace beamdump::watch {

/// What a command line asks for.
struct WatchCommand {
    Config config;
    std::optional<std::filesystem::path> layout{};
    bool json = false;
    bool check = false;  ///< show what the rules see, and end
};

/// Rules where neither the command line nor a file has any: memory, atoms, processes and ports at
/// 90% of their limits.
std::vector<Rule> default_rules();

/// Parses the arguments (without the program's name), and reads the file that they name. A text:
/// --help or --version. kUsage, and errors of read_config().
Result<std::variant<WatchCommand, std::string>> parse_options(
    const std::vector<std::string>& arguments);

}  // namespace beamdump::watch
