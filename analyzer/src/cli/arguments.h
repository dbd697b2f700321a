#pragma once

#include "cli/command.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace beamdump::cli {

/// When an answer has colours.
enum class Colors : std::uint8_t {
    kAuto,  ///< on a terminal, unless NO_COLOR is set or TERM is dumb
    kAlways,
    kNever,
};

/// The parsed command line.
struct Request {
    std::unique_ptr<Command> command;
    bool stats = false;
    bool pager = true;
    bool cache = true;  ///< of facts of crash dumps
    std::optional<std::uint64_t> threads;
    Colors colors = Colors::kAuto;
    InputLimits limits;
    std::string key;  ///< of an encrypted crash dump
};

/// Text to show instead of an answer: help, version.
struct Notice {
    std::string text;
};

/// Parses arguments without the program's name. Without a command the first one of the table is
/// used. Fails with kUsage.
Result<std::variant<Request, Notice>> parse_arguments(std::vector<std::string> arguments);

}  // namespace beamdump::cli
