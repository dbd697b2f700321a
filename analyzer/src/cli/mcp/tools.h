#pragma once

#include "cli/mcp/dumps.h"

#include <libdump/base/error.h>
#include <mcp/tool.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::cli {

/// Whether commands that write files are tools.
enum class Writing : std::uint8_t { kRefused, kAllowed };

/// Those of the table of commands, in its order. Left out are options that name files to read, that
/// show what is sensitive, or that are about terminals and other programs.
std::vector<mcp::Tool> make_tools(Writing writing);

/// What the arguments of many tools mean, which is said once.
inline constexpr std::string_view kArguments =
    "`filter`: TEXT in a column, or 'COLUMN OP VALUE' with =, !=, <, >, <=, >= or ~ (has it; * "
    "stands for any text); all hold. `sort`: columns, amounts largest first, -COLUMN the other way "
    "round. `group_by`: columns; groups are counted, with sums of amounts, which `sort` sorts by. "
    "`limit`: at most so many, 0 for all; 20 if it says nothing else.";

/// The members of a command's JSON answer with their types, as "properties" of JSON Schema; empty
/// for a command that has no schema (schemas/json).
std::string_view answer_members(std::string_view command);

/// The word of a command line for the text of an argument: of a dump its path, of a file to write
/// its path in an allowed folder. kNotFound, kPermission, kUsage.
Result<std::string> word_of_text(const mcp::Parameter& parameter, std::string_view text,
                                 const Dumps& dumps);

}  // namespace beamdump::cli
