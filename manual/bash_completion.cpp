#include <manual/documents.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace beamdump::manual {
namespace {

std::string identifier(std::string name) {
    std::ranges::replace(name, '-', '_');
    return name;
}

std::string option_names(const CommandUsage& command) {
    std::vector<std::string> names;
    for (const auto& option : command.options) {
        names.insert(names.end(), option.names.begin(), option.names.end());
    }
    return fmt::format("{}", fmt::join(names, " "));
}

/// The branch of a case for the value behind an option; empty for a flag.
std::string value_branch(const OptionUsage& option) {
    if (option.value.empty()) {
        return {};
    }
    const auto offer = !option.choices.empty()
                           ? fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$word\"))",
                                         fmt::join(option.choices, " "))
                       : option.takes_file ? "compopt -o default"
                                           : ":";
    return fmt::format("        {})\n          {}\n          return\n          ;;\n",
                       fmt::join(option.names, "|"), offer);
}

/// One case of `$command`: the values of its options, then its options or files.
std::string command_branch(const CommandUsage& command, std::string_view pattern,
                           std::string_view words) {
    auto text = fmt::format("    {})\n", pattern);
    std::string values;
    for (const auto& option : command.options) {
        values += value_branch(option);
    }
    if (!values.empty()) {
        text += fmt::format("      case $previous in\n{}      esac\n", values);
    }
    text += fmt::format(
        "      if [[ $word == -* ]]; then\n"
        "        COMPREPLY=($(compgen -W \"{}\" -- \"$word\"))\n"
        "      else\n"
        "        COMPREPLY=($(compgen -W \"{}\" -- \"$word\"))\n"
        "        compopt -o default\n"
        "      fi\n"
        "      ;;\n",
        option_names(command), words);
    return text;
}

}  // namespace

std::string bash_completion(const ProgramUsage& usage) {
    const auto function = "_" + identifier(usage.program.name);
    std::vector<std::string> names;
    std::ranges::transform(usage.commands, std::back_inserter(names), &CommandUsage::name);
    auto text = fmt::format(
        "# bash completion for {0} {1}\n"
        "{2}() {{\n"
        "  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}\n"
        "  local command= one\n"
        "  for one in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
        "    if [[ \" {3} \" == *\" $one \"* ]]; then\n"
        "      command=$one\n"
        "      break\n"
        "    fi\n"
        "  done\n"
        "  COMPREPLY=()\n"
        "  case $command in\n",
        usage.program.name, usage.version, function, fmt::join(names, " "));
    text += command_branch(usage.program, "\"\"", fmt::format("{}", fmt::join(names, " ")));
    for (const auto& command : usage.commands) {
        text += command_branch(command, command.name, "");
    }
    text += fmt::format("  esac\n}}\ncomplete -F {} {}\n", function, usage.program.name);
    return text;
}

}  // namespace beamdump::manual
