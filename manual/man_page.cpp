#include <manual/documents.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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

}  // namespace

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

}  // namespace beamdump::manual
