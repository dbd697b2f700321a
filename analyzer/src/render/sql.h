#pragma once

#include "render/shared/output.h"
#include "sql/sql_question.h"

#include <cstdint>
#include <string>
#include <vector>

namespace beamdump::render {

enum class SqlForm : std::uint8_t { kTable, kJson, kCsv, kNdjson };

/// Runs the question, and writes its rows as they come: a table of each 10,000, or as JSON, in
/// which NULL is an absent member. Gives what was left out.
Result<sql::LeftOut> write_sql(Output& output, sql::Question& question,
                               std::vector<sql::Source> sources, SqlForm form);

/// The tables that a question may ask, with their columns.
void sql_tables_text(Output& output);

}  // namespace beamdump::render
