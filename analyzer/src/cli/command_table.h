#pragma once

#include "cli/command.h"

#include <memory>
#include <vector>

namespace beamdump::cli {

/// The program's commands, in the order in which help shows them. The first is meant where a
/// command line names none.
std::vector<std::unique_ptr<Command>> make_commands();

}  // namespace beamdump::cli
