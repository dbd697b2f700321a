#pragma once

#include "cli/command.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace beamdump::cli {

/// The parsed command line.
struct Request {
    std::unique_ptr<Command> command;
    bool stats = false;
    InputLimits limits;
};

/// Text to show instead of an answer: help, version.
struct Notice {
    std::string text;
};

/// Parses arguments without the program's name. Without a command the first one of the table is
/// used. Fails with kUsage.
Result<std::variant<Request, Notice>> parse_arguments(std::vector<std::string> arguments);

}  // namespace beamdump::cli
