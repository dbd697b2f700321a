#pragma once

#include "cli/mcp/dumps.h"

#include <libdump/base/error.h>
#include <libdump/text/compact_json.h>

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <vector>

namespace beamdump::cli::mcp {

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
    std::string description;
    bool required = false;
};

/// A command as a tool.
struct Tool {
    std::string name;
    std::string description;
    std::vector<Parameter> parameters;
    bool has_json = false;  ///< answers with --json
    bool writes = false;
};

/// Whether commands that write files are tools.
enum class Writing : std::uint8_t { kRefused, kAllowed };

/// Those of the table of commands, in its order. Left out are options that name files to read, that
/// show what is sensitive, or that are about terminals and other programs.
std::vector<Tool> make_tools(Writing writing);

/// The members of an object: "properties" and "required" of JSON Schema.
void write_schema(CompactJson& json, const Tool& tool);

/// The command line for arguments of a call: without the program's name. kUsage, kNotFound,
/// kPermission.
Result<std::vector<std::string>> command_line(const Tool& tool,
                                              const simdjson::dom::object& arguments,
                                              const Dumps& dumps);

}  // namespace beamdump::cli::mcp
