#include "cli/mcp/tools.h"

#include "cli/command_table.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace beamdump::cli {

namespace {

using mcp::Parameter;
using mcp::Tool;
using namespace std::string_view_literals;

/// Options that no tool has.
constexpr std::array kLeftOut = {
    "--json"sv,       // always given
    "--wide"sv,       // of terminals
    "--sensitive"sv,  // what is flagged sensitive stays hidden
    "--ndjson"sv,     // for other programs
    "--csv"sv,        "--format"sv, "--chunk-size"sv, "--exit-code"sv,
    "--stacks"sv,  // of the text alone
    "--term-limit"sv,
    "--file"sv,  // files to read
    "--beam"sv,       "--policy"sv,
    "--force"sv,  // nothing is overwritten
    "--width"sv,  // of a text's lines
    "--prompt"sv,
};
constexpr std::string_view kTextColumns = "Show these columns in the text";

/// What the help of many commands says, and in place of that a tool, whose sentences a model reads
/// all at once: what a server says of itself has what is left out here (kArguments).
constexpr std::array kShorter = {
    std::pair{" with TEXT in a column, or 'COLUMN OP VALUE': =, !=, <, >, <=, >= or ~ (has it; * "
              "stands for any text). Columns: "sv,
              " of: "sv},
    std::pair{". Repeatable; all filters must match"sv, ""sv},
    std::pair{": amounts largest first, texts from a to z; -COLUMN is the other way round"sv, ""sv},
    std::pair{"Count by the values of these columns, with sums of amounts, the largest group "
              "first; --sort by an amount sorts by its sums"sv,
              ""sv},
    std::pair{"Columns to sort by (default"sv, "Columns (default"sv},
    std::pair{", and do not cut lines to the width of the terminal"sv, ""sv},
    std::pair{"Show at most N"sv, "At most N"sv},
    std::pair{"At most N (0: all; default 20)"sv, ""sv},
    std::pair{", with a message on standard error"sv, ""sv},
    std::pair{"Truncate each"sv, "Cut each"sv},
    std::pair{"A pid (<0.123.0> or 0.123.0) or a registered name"sv, "A pid or registered name"sv},
};
/// From here on a help says what the answer shows.
constexpr std::string_view kSeenInAnswer = ". Columns are then: ";

void shorten(Parameter& parameter) {
    auto& description = parameter.description;
    if (description == "The dump" || !parameter.choices.empty()) {
        description.clear();
    }
    for (const auto& [help, shorter] : kShorter) {
        if (const auto at = description.find(help); at != std::string::npos) {
            description.replace(at, help.size(), shorter);
        }
    }
    description.erase(std::min(description.find(kSeenInAnswer), description.size()));
}

/// What a word or option of a command names.
void add_role(Parameter& parameter) {
    constexpr std::array kDumps = {"dump"sv,  "dumps"sv, "before"sv,
                                   "after"sv, "later"sv, "crash_dump"sv};
    if (parameter.option == "--output") {
        parameter.role = Parameter::Role::kOutput;
        parameter.required = true;
    } else if (parameter.option.empty() &&
               std::ranges::find(kDumps, parameter.name) != kDumps.end()) {
        parameter.role = Parameter::Role::kDump;
    }
}

/// The statement of `sql` is the last of its words.
void add_statement(Tool& tool) {
    const auto dumps = std::ranges::find(tool.parameters, Parameter::Role::kDump, &Parameter::role);
    dumps->description = "The dumps to ask. Tables have the column dump, with these names";
    tool.parameters.insert(
        std::next(dumps),
        {.name = "statement",
         .description = "One SELECT statement of SQLite. The argument tables, alone, shows the "
                        "tables, their columns and functions"});
}

}  // namespace

std::vector<Tool> make_tools(Writing writing) {
    std::vector<Tool> tools;
    for (const auto& [command, group] : make_commands()) {
        const auto description = command->description();
        const bool writes = group == kWritingGroup;
        if (group == kServingGroup || (writes && writing == Writing::kRefused)) {
            continue;
        }
        CLI::App app;
        app.set_help_flag();
        command->add_options(app);
        Tool tool{.name = std::string(description.name),
                  .description = fmt::format("{}.", description.purpose),
                  .parameters = {},
                  .writes = writes};
        for (const auto* option : app.get_options()) {
            tool.has_json = tool.has_json || option->check_lname("json");
            auto parameter = mcp::parameter_of(*option, kLeftOut);
            if (!parameter || parameter->description == kTextColumns) {
                continue;
            }
            shorten(*parameter);
            add_role(*parameter);
            // A command that answers a question writes no file, whatever else it can.
            if (writes || parameter->role != Parameter::Role::kOutput) {
                tool.parameters.push_back(*std::move(parameter));
            }
        }
        if (tool.has_json) {
            tool.answer_members = answer_members(tool.name);
        }
        if (tool.name == "sql") {
            add_statement(tool);
        }
        tool.parameters.push_back(mcp::page_parameter());
        tools.push_back(std::move(tool));
    }
    return tools;
}

Result<std::string> word_of_text(const Parameter& parameter, std::string_view text,
                                 const Dumps& dumps) {
    switch (parameter.role) {
        case Parameter::Role::kDump:
            return dumps.find(text);
        case Parameter::Role::kOutput:
            return dumps.writable(std::string(text));
        default:
            return std::string(text);
    }
}

}  // namespace beamdump::cli
