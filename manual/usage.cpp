#include <manual/usage.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

namespace beamdump::manual {
namespace {

// Placeholders and arguments that stand for files.
constexpr std::array<std::string_view, 10> kFiles{"FILE",  "FILE.o",     "LAYOUT", "DUMP", "BEFORE",
                                                  "AFTER", "CRASH_DUMP", "BEAM",   "A",    "B"};

std::string one_line(std::string text) {
    std::ranges::replace(text, '\n', ' ');
    return text;
}

std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> all;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        all.push_back(line);
    }
    return all;
}

/// CLI11 shows a set of values as "{full,sample,none}" behind the placeholder.
std::vector<std::string> choices_in(std::string_view type) {
    const auto open = type.find('{');
    const auto close = type.find('}');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
        return {};
    }
    std::vector<std::string> choices;
    auto rest = type.substr(open + 1, close - open - 1);
    while (!rest.empty()) {
        const auto comma = std::min(rest.find(','), rest.size());
        choices.emplace_back(rest.substr(0, comma));
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return choices;
}

OptionUsage usage_of(const CLI::Option& option) {
    OptionUsage usage;
    usage.description = one_line(option.get_description());
    usage.required = option.get_required();
    const auto type = option.get_type_name();
    if (option.get_positional()) {
        usage.names = {option.get_name(true)};
        usage.value = usage.names.front();
    } else {
        for (const auto& name : option.get_snames()) {
            usage.names.push_back("-" + name);
        }
        for (const auto& name : option.get_lnames()) {
            usage.names.push_back("--" + name);
        }
        if (option.get_items_expected_max() > 0) {
            usage.value = option.get_option_text().empty() ? type.substr(0, type.find(':'))
                                                           : option.get_option_text();
        }
    }
    usage.choices = choices_in(type);
    usage.takes_file = std::ranges::find(kFiles, usage.value) != kFiles.end();
    return usage;
}

CommandUsage command_usage(const CLI::App& app) {
    CommandUsage usage{.name = app.get_name(),
                       .purpose = one_line(app.get_description()),
                       .arguments = {},
                       .options = {},
                       .notes = lines(app.get_footer())};
    for (const auto* option : app.get_options()) {
        auto& place = option->get_positional() ? usage.arguments : usage.options;
        place.push_back(usage_of(*option));
    }
    return usage;
}

}  // namespace

ProgramUsage usage_of(const CLI::App& app) {
    ProgramUsage usage{.program = command_usage(app), .version = {}, .commands = {}};
    const auto version = app.version();  // "PROGRAM 0.1.0", and lines with what it supports
    const auto line = version.substr(0, version.find('\n'));
    usage.version = line.substr(line.rfind(' ') + 1);
    for (const auto* command : app.get_subcommands({})) {
        usage.commands.push_back(command_usage(*command));
    }
    return usage;
}

std::vector<OptionUsage> shared_options(const ProgramUsage& usage) {
    if (usage.commands.empty()) {
        return {};
    }
    std::vector<OptionUsage> shared;
    for (const auto& option : usage.commands.front().options) {
        const bool everywhere = std::ranges::all_of(usage.commands, [&](const auto& command) {
            return std::ranges::find(command.options, option) != command.options.end();
        });
        if (everywhere) {
            shared.push_back(option);
        }
    }
    return shared;
}

}  // namespace beamdump::manual
