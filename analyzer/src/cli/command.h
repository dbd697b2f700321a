#pragma once

#include "cli/invocation.h"

#include <libdump/base/error.h>

#include <CLI/App.hpp>

#include <string_view>

namespace beamdump::cli {

/// The outcome of a command.
struct Outcome {
    bool incomplete = false;  ///< void or withheld process, gaps in the terms
    bool found = false;       ///< what the command was asked to check for
};

/// One command of the program: its options, its query and its output. One object for each command
/// line.
class Command {
  public:
    /// For the help.
    struct Description {
        std::string_view name;
        std::string_view purpose;   ///< one sentence, without a full stop
        std::string_view examples;  ///< command lines, one a line, without the program's name
    };

    Command() = default;
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;
    virtual ~Command() = default;

    [[nodiscard]] virtual Description description() const = 0;
    /// Options are values of this object, which outlives the parsing.
    virtual void add_options(CLI::App& app) = 0;
    /// Checks values that the parser does not check. Called after parsing. kUsage.
    virtual Result<void> check_options() { return {}; }
    virtual Result<Outcome> run(Invocation& invocation) = 0;
};

}  // namespace beamdump::cli
