#include <libdump/base/nearest.h>
#include <libdump/base/return_if_error.h>
#include <mcp/tool.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace beamdump::mcp {

namespace {

namespace dom = simdjson::dom;

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
    return option.get_option_text() == "N" || type == "N" || type.starts_with("UINT") ||
                   type.starts_with("INT")
               ? Parameter::Kind::kNumber
               : Parameter::Kind::kText;
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
                            const ReadText& read) {
    if (parameter.kind == Parameter::Kind::kNumber) {
        std::uint64_t number = 0;
        if (value.get_uint64().get(number) != simdjson::SUCCESS) {
            return fail(ErrorCode::kUsage,
                        fmt::format("{} is an integer of 0 or more", parameter.name));
        }
        return fmt::to_string(number);
    }
    ASSIGN_OR_RETURN(const auto text, text_of(parameter, value));
    return read(parameter, text);
}

/// Appends the words of one argument.
Result<void> add_words(const Parameter& parameter, const dom::element& value, const ReadText& read,
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
            ASSIGN_OR_RETURN(auto word, word_of(parameter, item, read));
            add(std::move(word));
        }
        return {};
    }
    ASSIGN_OR_RETURN(auto word, word_of(parameter, value, read));
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
    if (!parameter.choices.empty()) {
        json.key("enum");
        json.begin_array();
        for (const auto& choice : parameter.choices) {
            json.value(std::string_view(choice));
        }
        json.end_array();
    }
    // A name that says it all is not repeated.
    if (!parameter.description.empty()) {
        json.member("description", std::string_view(parameter.description));
    }
    json.end_object();
}

/// The members of an object: "properties" and "required" of JSON Schema.
void write_input_schema(CompactJson& json, const Tool& tool) {
    json.member("type", std::string_view("object"));
    json.key("properties");
    json.begin_object();
    for (const auto& parameter : tool.parameters) {
        write_parameter(json, parameter);
    }
    json.end_object();
    if (std::ranges::none_of(tool.parameters, &Parameter::required)) {
        return;
    }
    json.key("required");
    json.begin_array();
    for (const auto& parameter : tool.parameters) {
        if (parameter.required) {
            json.value(std::string_view(parameter.name));
        }
    }
    json.end_array();
}

/// Of each answer but one that failed. A page has a part of the answer's members.
void write_output_schema(CompactJson& json, const Tool& tool) {
    constexpr std::string_view kEnvelope =
        R"("tool":{"type":"string"},"note":{"type":"string"},)"
        R"("incomplete":{"type":"boolean","description":"Data is missing: messages say what"},)"
        R"("messages":{"type":"array","items":{"type":"string"}},)"
        R"("page":{"type":"integer","minimum":1},"pages":{"type":"integer","minimum":1},)"
        R"("left_out":{"type":"string"},"begins_at":{"type":"string"})";
    json.member("type", std::string_view("object"));
    json.key("properties");
    json.json_value(
        fmt::format(R"({{{},"answer":{{"type":"object"{}}}}})", kEnvelope,
                    tool.answer_members.empty() ? "" : ",\"properties\":" + tool.answer_members));
    json.key("required");
    json.json_value(R"(["tool","note","page","pages","answer"])");
}

}  // namespace

std::optional<Parameter> parameter_of(const CLI::Option& option,
                                      std::span<const std::string_view> left_out) {
    Parameter parameter;
    if (option.get_lnames().empty()) {
        parameter.name = property_name(option.get_name(true));
    } else {
        parameter.option = "--" + option.get_lnames().front();
        if (std::ranges::find(left_out, parameter.option) != left_out.end()) {
            return std::nullopt;
        }
        parameter.name = property_name(parameter.option);
    }
    parameter.kind = kind_of(option);
    parameter.choices = choices_of(option.get_type_name());
    parameter.description = option.get_description();
    // Descriptions for a terminal are divided into lines.
    std::ranges::replace(parameter.description, '\n', ' ');
    parameter.required = option.get_required();
    return parameter;
}

Parameter page_parameter() {
    return {.name = "page",
            .kind = Parameter::Kind::kNumber,
            .role = Parameter::Role::kPage,
            .description = ""};
}

void write_tool(CompactJson& json, const Tool& tool) {
    json.begin_object();
    json.member("name", std::string_view(tool.name));
    json.member("description", std::string_view(tool.description));
    json.key("inputSchema");
    json.begin_object();
    write_input_schema(json, tool);
    json.end_object();
    if (tool.tells_answer) {
        json.key("outputSchema");
        json.begin_object();
        write_output_schema(json, tool);
        json.end_object();
    }
    json.key("annotations");
    json.begin_object();
    json.member("readOnlyHint", !tool.writes);
    if (tool.writes) {
        json.member("destructiveHint", false);
    }
    json.end_object();
    json.end_object();
}

Result<std::vector<std::string>> command_line(const Tool& tool, const dom::object& arguments,
                                              const ReadText& read) {
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
            add_words(parameter, value, read, parameter.option.empty() ? words : options));
    }
    if (!words.empty()) {
        // What follows is no option, whatever it begins with.
        options.emplace_back("--");
        std::ranges::move(words, std::back_inserter(options));
    }
    return options;
}

}  // namespace beamdump::mcp
