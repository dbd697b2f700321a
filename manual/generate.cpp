#include <manual/generate.h>
#include <manual/usage.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

namespace beamdump::manual {
namespace {

/// Text as roff prints it unchanged: see groff_char(7) for \- and \e.
std::string roff(std::string_view text) {
    std::string escaped;
    for (const char letter : text) {
        if (letter == '\\') {
            escaped += "\\e";
        } else if (letter == '-') {
            escaped += "\\-";
        } else {
            escaped += letter;
        }
    }
    // A control character in the first column would begin a request.
    return escaped.starts_with('.') || escaped.starts_with('\'') ? "\\&" + escaped : escaped;
}

/// "\fB\-o\fR, \fB\-\-output\fR \fIFILE\fR"
std::string option_head(const OptionUsage& option) {
    std::vector<std::string> names;
    for (const auto& name : option.names) {
        names.push_back(fmt::format("\\fB{}\\fR", roff(name)));
    }
    const bool named = option.names.front().starts_with('-');
    const auto value =
        option.choices.empty() ? option.value : fmt::format("{}", fmt::join(option.choices, "|"));
    return fmt::format("{}{}", fmt::join(names, ", "),
                       named && !value.empty() ? fmt::format(" \\fI{}\\fR", roff(value)) : "");
}

void add_options(std::string& page, const std::vector<OptionUsage>& options) {
    for (const auto& option : options) {
        page += fmt::format(".TP\n{}\n{}\n", option_head(option), roff(option.description));
    }
}

std::string synopsis(const CommandUsage& usage, std::string_view before) {
    auto line = fmt::format("{}\\fB{}\\fR", before, roff(usage.name));
    if (!usage.options.empty()) {
        line += " [\\fIOPTIONS\\fR]";
    }
    for (const auto& argument : usage.arguments) {
        const auto value = fmt::format("\\fI{}\\fR", roff(argument.value));
        line += argument.required ? " " + value : fmt::format(" [{}]", value);
    }
    return line;
}

std::string paragraphs(const std::vector<std::string>& notes) {
    std::string text;
    for (const auto& note : notes) {
        text += fmt::format("{}{}\n", text.empty() ? "" : ".PP\n", roff(note));
    }
    return text;
}

void add_command(std::string& page, const CommandUsage& command,
                 const std::vector<OptionUsage>& shared) {
    page += fmt::format(".SS {}\n{}.\n.PP\n{}\n", roff(command.name), roff(command.purpose),
                        synopsis(command, ""));
    add_options(page, command.arguments);
    std::vector<OptionUsage> own;
    std::ranges::copy_if(command.options, std::back_inserter(own), [&](const auto& option) {
        return std::ranges::find(shared, option) == shared.end();
    });
    add_options(page, own);
    if (!command.notes.empty()) {
        page += ".PP\n" + paragraphs(command.notes);
    }
}

/// "Makes layouts" -> "makes layouts", as in the NAME section of other pages.
std::string lower_first(std::string text) {
    if (!text.empty() && text.front() >= 'A' && text.front() <= 'Z') {
        text.front() = static_cast<char>(text.front() - 'A' + 'a');
    }
    return text;
}

/// A man page of section 1, in the macros of man(7).
std::string man_page(const ProgramUsage& usage) {
    const auto& program = usage.program;
    const auto sentence = program.purpose.substr(0, program.purpose.find('.'));
    // No date: the page is the same for each build of a version.
    auto page = fmt::format(".TH {} 1 \"\" \"beamdump {}\" \"User Commands\"\n", program.name,
                            roff(usage.version));
    page += fmt::format(".SH NAME\n{} \\- {}\n", roff(program.name), roff(lower_first(sentence)));
    page += fmt::format(".SH SYNOPSIS\n{}\n", synopsis(program, ""));
    for (const auto& command : usage.commands) {
        page += fmt::format(".br\n{}\n",
                            synopsis(command, fmt::format("\\fB{}\\fR ", roff(program.name))));
    }
    page += fmt::format(".SH DESCRIPTION\n{}\n", roff(program.purpose));
    page += ".SH OPTIONS\n";
    add_options(page, program.arguments);
    add_options(page, program.options);
    const auto shared = shared_options(usage);
    if (!usage.commands.empty()) {
        page += ".SH COMMANDS\n";
    }
    for (const auto& command : usage.commands) {
        add_command(page, command, shared);
    }
    if (!shared.empty()) {
        page += ".SS Options of every command\n";
        add_options(page, shared);
    }
    if (!program.notes.empty()) {
        page += ".SH NOTES\n" + paragraphs(program.notes);
    }
    return page;
}

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

/// Completion for bash: a function for `complete -F`.
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

/// Completion for zsh: a function for compinit, which is found by its first line.
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

/// Completion for fish: one `complete` command for each command and option.
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

std::string document(const CLI::App& app, const std::string& kind) {
    const auto usage = usage_of(app);
    return kind == "man"    ? man_page(usage)
           : kind == "bash" ? bash_completion(usage)
           : kind == "zsh"  ? zsh_completion(usage)
                            : fish_completion(usage);
}

}  // namespace

void add_generate(CLI::App& app) {
    // As the callback runs while options are parsed, required ones may be missing, as with --help.
    app.add_option_function<std::string>(
           "--generate",
           [&app](const std::string& kind) {
               auto text = document(app, kind);
               text.pop_back();  // the program adds a newline
               throw CLI::CallForVersion(text, 0);
           },
           "Print the man page, or completions for a shell")
        ->check(CLI::IsMember({"man", "bash", "zsh", "fish"}))
        ->type_name("KIND")
        ->trigger_on_parse();
}

}  // namespace beamdump::manual
