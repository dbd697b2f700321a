#include <manual/documents.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace beamdump::manual {
namespace {

/// Text inside of single quotes; brackets and colons separate the parts of a specification.
std::string zsh_text(std::string_view text) {
    std::string escaped;
    for (const char letter : text) {
        if (letter == '\'') {
            escaped += "'\\''";
        } else {
            if (letter == ':' || letter == '[' || letter == ']' || letter == '\\') {
                escaped += '\\';
            }
            escaped += letter;
        }
    }
    return escaped;
}

std::string action(const OptionUsage& option) {
    return !option.choices.empty() ? fmt::format("({})", fmt::join(option.choices, " "))
           : option.takes_file     ? "_files"
                                   : " ";
}

/// See zshcompsys(1), _arguments.
std::string specifications(const CommandUsage& command) {
    std::string text;
    for (const auto& option : command.options) {
        const auto value = option.value.empty()
                               ? std::string()
                               : fmt::format(":{}:{}", zsh_text(option.value), action(option));
        for (const auto& name : option.names) {
            text += fmt::format(" \\\n    '*{}[{}]{}'", name, zsh_text(option.description), value);
        }
    }
    for (const auto& argument : command.arguments) {
        text += fmt::format(" \\\n    '{}:{}:{}'", argument.required ? "" : ":",
                            zsh_text(argument.value), action(argument));
    }
    return text;
}

}  // namespace

std::string zsh_completion(const ProgramUsage& usage) {
    const auto& program = usage.program;
    auto text =
        fmt::format("#compdef {0}\n# zsh completion for {0} {1}\n", program.name, usage.version);
    if (usage.commands.empty()) {
        return text + fmt::format("_arguments -s{}\n", specifications(program));
    }
    text += fmt::format(
        "local curcontext=$curcontext state line\n"
        "local -a commands=(\n");
    for (const auto& command : usage.commands) {
        text += fmt::format("  '{}:{}'\n", command.name, zsh_text(command.purpose));
    }
    text += fmt::format(
        ")\n"
        "_arguments -C -s{} \\\n"
        "    '1:command:->command' \\\n"
        "    '*::argument:->arguments'\n"
        "case $state in\n"
        "command)\n"
        "  _describe command commands\n"
        "  _files\n"
        "  ;;\n"
        "arguments)\n"
        "  case $words[1] in\n",
        specifications(program));
    for (const auto& command : usage.commands) {
        text += fmt::format("  {})\n    _arguments -s{}\n    ;;\n", command.name,
                            specifications(command));
    }
    return text + "  *)\n    _files\n    ;;\n  esac\n  ;;\nesac\n";
}

}  // namespace beamdump::manual
