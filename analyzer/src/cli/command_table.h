#pragma once

#include "cli/command.h"

#include <memory>
#include <vector>

namespace beamdump::cli {

/// The program's commands in the order of the help. The first is the default.
std::vector<std::unique_ptr<Command>> make_commands();

}  // namespace beamdump::cli
