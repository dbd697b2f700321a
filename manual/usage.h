#pragma once

#include <CLI/App.hpp>

#include <string>
#include <vector>

namespace beamdump::manual {

/// An option, or an argument without a name.
struct OptionUsage {
    std::vector<std::string> names;    ///< "-o", "--output"; of an argument "DUMP"
    std::string value;                 ///< what it takes: "FILE"; empty: nothing
    std::vector<std::string> choices;  ///< the values to choose from; empty: others too
    std::string description;           ///< without line ends
    bool required = false;
    bool takes_file = false;

    bool operator==(const OptionUsage&) const = default;
};

/// A program or one of its commands.
struct CommandUsage {
    std::string name;
    std::string purpose;
    std::vector<OptionUsage> arguments;
    std::vector<OptionUsage> options;
    std::vector<std::string> notes;  ///< paragraphs below the options
};

/// A program with its commands.
struct ProgramUsage {
    CommandUsage program;
    std::string version;  ///< "0.1.0"
    std::vector<CommandUsage> commands;
};

/// What a declared program accepts.
ProgramUsage usage_of(const CLI::App& app);

/// The options that every command has.
std::vector<OptionUsage> shared_options(const ProgramUsage& usage);

}  // namespace beamdump::manual
