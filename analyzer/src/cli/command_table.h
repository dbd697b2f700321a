#pragma once

#include "cli/command.h"

#include <memory>
#include <string_view>
#include <vector>

namespace beamdump::cli {

inline constexpr std::string_view kWritingGroup = "Write files";
/// Commands that run the others for somebody.
inline constexpr std::string_view kServingGroup = "Serve assistants";

struct GroupedCommand {
    std::unique_ptr<Command> command;
    std::string_view group;  ///< of commands in the help
};

/// The program's commands in the order of the help. The first is the default.
std::vector<GroupedCommand> make_commands();

}  // namespace beamdump::cli
