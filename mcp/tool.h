#pragma once

#include <libdump/base/error.h>
#include <libdump/text/compact_json.h>

#include <CLI/App.hpp>
#include <simdjson.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::mcp {

/// What an argument of a tool is on the command line.
struct Parameter {
    enum class Kind : std::uint8_t { kFlag, kNumber, kText, kTexts };
    enum class Role : std::uint8_t {
        kPlain,
        kDump,    ///< names an open dump
        kOutput,  ///< names a file to write
        kPage,    ///< of the answer, nothing of the command's
    };

    std::string name;
    std::string option = {};  ///< "--limit"; empty: a word
    Kind kind = Kind::kText;
    Role role = Role::kPlain;
    std::vector<std::string> choices = {};  ///< empty: any
    std::string description;                ///< empty: the name says it
    bool required = false;
};

/// A command as a tool.
struct Tool {
    std::string name;
    std::string description;
    std::vector<Parameter> parameters;
    bool has_json = false;  ///< answers with --json
    bool writes = false;
    bool tells_answer = true;         ///< tools/list has the schema of its answer
    std::string answer_members = {};  ///< "properties" of its answer's JSON Schema; empty: not told
};

/// An option or word of a command as an argument of its tool; nullopt for the options `left_out`.
std::optional<Parameter> parameter_of(const CLI::Option& option,
                                      std::span<const std::string_view> left_out);

/// The argument that every tool has last.
Parameter page_parameter();

/// A tool as tools/list has it: with schemas of its arguments and, where it is told, of its answer.
void write_tool(CompactJson& json, const Tool& tool);

/// Makes a word of the command line of the text of an argument; kUsage, kNotFound, kPermission.
using ReadText =
    std::function<Result<std::string>(const Parameter& parameter, std::string_view text)>;

/// The command line for arguments of a call: without the program's name. kUsage, and the errors of
/// `read`.
Result<std::vector<std::string>> command_line(const Tool& tool,
                                              const simdjson::dom::object& arguments,
                                              const ReadText& read);

}  // namespace beamdump::mcp
