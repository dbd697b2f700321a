#include <manual/documents.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace beamdump::manual {
namespace {

/// Text inside of single quotes.
std::string fish_text(std::string_view text) {
    std::string escaped;
    for (const char letter : text) {
        if (letter == '\'' || letter == '\\') {
            escaped += '\\';
        }
        escaped += letter;
    }
    return escaped;
}

/// condition: when the options apply, as a fish command; empty: always.
std::string options_text(std::string_view program, const CommandUsage& command,
                         std::string_view condition) {
    std::string text;
    for (const auto& option : command.options) {
        text += fmt::format("complete -c {}", program);
        if (!condition.empty()) {
            text += fmt::format(" -n '{}'", condition);
        }
        for (const auto& name : option.names) {
            text += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2))
                                           : fmt::format(" -s {}", name.substr(1));
        }
        if (!option.choices.empty()) {
            text += fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
        } else if (!option.value.empty()) {
            text += option.takes_file ? " -r -F" : " -x";
        }
        text += fmt::format(" -d '{}'\n", fish_text(option.description));
    }
    return text;
}

}  // namespace

std::string fish_completion(const ProgramUsage& usage) {
    const auto& program = usage.program;
    auto text = fmt::format("# fish completion for {} {}\n", program.name, usage.version);
    for (const auto& command : usage.commands) {
        text += fmt::format("complete -c {} -n __fish_use_subcommand -a {} -d '{}'\n", program.name,
                            command.name, fish_text(command.purpose));
    }
    text +=
        options_text(program.name, program, usage.commands.empty() ? "" : "__fish_use_subcommand");
    for (const auto& command : usage.commands) {
        text += options_text(program.name, command,
                             fmt::format("__fish_seen_subcommand_from {}", command.name));
    }
    return text;
}

}  // namespace beamdump::manual
