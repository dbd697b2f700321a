#include "cli/mcp/tools.h"

#include "cli/command_table.h"

#include <libdump/base/nearest.h>
#include <libdump/base/return_if_error.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

namespace beamdump::cli::mcp {

namespace {

namespace dom = simdjson::dom;
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
};

std::string property_name(std::string_view option) {
    std::string name(option.substr(option.find_first_not_of('-')));
    std::ranges::transform(name, name.begin(), [](unsigned char c) {
        return c == '-' ? '_' : static_cast<char>(std::tolower(c));
    });
    return name;
}

/// What a validator of CLI11 says of the values: "TEXT:{none,classic}".
std::vector<std::string> choices_of(const std::string& type) {
    const auto begin = type.find('{');
    const auto end = type.find('}', begin);
    if (begin == std::string::npos || end == std::string::npos) {
        return {};
    }
    return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

Parameter::Kind kind_of(const CLI::Option& option) {
    if (option.get_items_expected_max() == 0) {
        return Parameter::Kind::kFlag;
    }
    if (option.get_items_expected_max() > 1) {
        return Parameter::Kind::kTexts;
    }
    const auto type = option.get_type_name();
    return option.get_option_text() == "N" || type.starts_with("UINT") || type.starts_with("INT")
               ? Parameter::Kind::kNumber
               : Parameter::Kind::kText;
}

bool names_dumps(std::string_view positional) {
    constexpr std::array kNames = {"DUMP"sv,  "DUMPS"sv, "BEFORE"sv,
                                   "AFTER"sv, "LATER"sv, "CRASH_DUMP"sv};
    return std::ranges::find(kNames, positional) != kNames.end();
}

std::optional<Parameter> parameter_of(const CLI::Option& option) {
    Parameter parameter;
    if (option.get_lnames().empty()) {
        parameter.name = property_name(option.get_name(true));
        parameter.role =
            names_dumps(option.get_name(true)) ? Parameter::Role::kDump : Parameter::Role::kPlain;
    } else {
        parameter.option = "--" + option.get_lnames().front();
        if (std::ranges::find(kLeftOut, parameter.option) != kLeftOut.end()) {
            return std::nullopt;
        }
        parameter.name = property_name(parameter.option);
        if (parameter.option == "--output") {
            parameter.role = Parameter::Role::kOutput;
        }
    }
    parameter.kind = kind_of(option);
    parameter.choices = choices_of(option.get_type_name());
    parameter.description = option.get_description();
    parameter.required = option.get_required() || parameter.role == Parameter::Role::kOutput;
    return parameter;
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

Result<std::string> text_of(const Parameter& parameter, const dom::element& value) {
    std::string_view text;
    if (value.get_string().get(text) != simdjson::SUCCESS) {
        return fail(ErrorCode::kUsage, fmt::format("{} is a text", parameter.name));
    }
    if (!parameter.choices.empty() &&
        std::ranges::find(parameter.choices, text) == parameter.choices.end()) {
        return fail(ErrorCode::kUsage, fmt::format("{} is one of {}", parameter.name,
                                                   fmt::join(parameter.choices, ", ")));
    }
    return std::string(text);
}

Result<std::string> word_of(const Parameter& parameter, const dom::element& value,
                            const Dumps& dumps) {
    if (parameter.kind == Parameter::Kind::kNumber) {
        std::uint64_t number = 0;
        if (value.get_uint64().get(number) != simdjson::SUCCESS) {
            return fail(ErrorCode::kUsage,
                        fmt::format("{} is an integer of 0 or more", parameter.name));
        }
        return fmt::to_string(number);
    }
    ASSIGN_OR_RETURN(auto text, text_of(parameter, value));
    switch (parameter.role) {
        case Parameter::Role::kDump:
            return dumps.find(text);
        case Parameter::Role::kOutput:
            return dumps.writable(text);
        default:
            return text;
    }
}

/// Appends the words of one argument.
Result<void> add_words(const Parameter& parameter, const dom::element& value, const Dumps& dumps,
                       std::vector<std::string>& words) {
    const auto add = [&](std::string word) {
        words.push_back(parameter.option.empty() ? std::move(word) : parameter.option + "=" + word);
    };
    if (parameter.kind == Parameter::Kind::kFlag) {
        bool set = false;
        if (value.get_bool().get(set) != simdjson::SUCCESS) {
            return fail(ErrorCode::kUsage, fmt::format("{} is true or false", parameter.name));
        }
        if (set) {
            words.push_back(parameter.option);
        }
        return {};
    }
    dom::array items;
    if (parameter.kind == Parameter::Kind::kTexts &&
        value.get_array().get(items) == simdjson::SUCCESS) {
        for (const dom::element item : items) {
            ASSIGN_OR_RETURN(auto word, word_of(parameter, item, dumps));
            add(std::move(word));
        }
        return {};
    }
    ASSIGN_OR_RETURN(auto word, word_of(parameter, value, dumps));
    add(std::move(word));
    return {};
}

/// kUsage for an argument that the tool has not.
Result<void> check_names(const Tool& tool, const dom::object& arguments) {
    std::set<std::string_view> seen;
    for (const auto [name, value] : arguments) {
        if (std::ranges::find(tool.parameters, name, &Parameter::name) != tool.parameters.end()) {
            if (!seen.insert(name).second) {
                return fail(ErrorCode::kUsage, fmt::format("the argument {} is there twice", name));
            }
            continue;
        }
        Nearest nearest(name);
        std::vector<std::string_view> known;
        for (const auto& parameter : tool.parameters) {
            nearest.add(parameter.name);
            known.push_back(parameter.name);
        }
        return fail(ErrorCode::kUsage,
                    nearest.best().empty()
                        ? fmt::format("{} has no argument \"{}\": it has {}", tool.name, name,
                                      fmt::join(known, ", "))
                        : fmt::format("{} has no argument \"{}\"; did you mean {}?", tool.name,
                                      name, nearest.best()));
    }
    return {};
}

std::string_view type_name(Parameter::Kind kind) {
    switch (kind) {
        case Parameter::Kind::kFlag:
            return "boolean";
        case Parameter::Kind::kNumber:
            return "integer";
        case Parameter::Kind::kTexts:
            return "array";
        default:
            return "string";
    }
}

void write_parameter(CompactJson& json, const Parameter& parameter) {
    json.key(parameter.name);
    json.begin_object();
    json.member("type", type_name(parameter.kind));
    if (parameter.kind == Parameter::Kind::kTexts) {
        json.key("items");
        json.begin_object();
        json.member("type", std::string_view("string"));
        json.end_object();
    }
    if (parameter.kind == Parameter::Kind::kNumber) {
        json.member("minimum", 0U);
    }
    if (!parameter.choices.empty()) {
        json.key("enum");
        json.begin_array();
        for (const auto& choice : parameter.choices) {
            json.value(std::string_view(choice));
        }
        json.end_array();
    }
    json.member("description", std::string_view(parameter.description));
    json.end_object();
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
            auto parameter = parameter_of(*option);
            // A command that answers a question writes no file, whatever else it can.
            if (parameter && (writes || parameter->role != Parameter::Role::kOutput)) {
                tool.parameters.push_back(*std::move(parameter));
            }
        }
        if (tool.name == "sql") {
            add_statement(tool);
        }
        tool.parameters.push_back({.name = "page",
                                   .kind = Parameter::Kind::kNumber,
                                   .role = Parameter::Role::kPage,
                                   .description = "The page of the answer (default 1)"});
        tools.push_back(std::move(tool));
    }
    return tools;
}

void write_schema(CompactJson& json, const Tool& tool) {
    json.member("type", std::string_view("object"));
    json.key("properties");
    json.begin_object();
    for (const auto& parameter : tool.parameters) {
        write_parameter(json, parameter);
    }
    json.end_object();
    json.key("required");
    json.begin_array();
    for (const auto& parameter : tool.parameters) {
        if (parameter.required) {
            json.value(std::string_view(parameter.name));
        }
    }
    json.end_array();
    json.member("additionalProperties", false);
}

Result<std::vector<std::string>> command_line(const Tool& tool, const dom::object& arguments,
                                              const Dumps& dumps) {
    RETURN_IF_ERROR(check_names(tool, arguments));
    std::vector<std::string> options = {tool.name};
    if (tool.has_json) {
        options.emplace_back("--json");
    }
    std::vector<std::string> words;
    for (const auto& parameter : tool.parameters) {
        if (parameter.role == Parameter::Role::kPage) {
            continue;
        }
        dom::element value;
        if (arguments[parameter.name].get(value) != simdjson::SUCCESS) {
            if (parameter.required) {
                return fail(ErrorCode::kUsage,
                            fmt::format("{} needs the argument {}: {}", tool.name, parameter.name,
                                        parameter.description));
            }
            continue;
        }
        RETURN_IF_ERROR(
            add_words(parameter, value, dumps, parameter.option.empty() ? words : options));
    }
    if (!words.empty()) {
        // What follows is no option, whatever it begins with.
        options.emplace_back("--");
        std::ranges::move(words, std::back_inserter(options));
    }
    return options;
}

}  // namespace beamdump::cli::mcp
