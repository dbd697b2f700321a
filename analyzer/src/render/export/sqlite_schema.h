#pragma once

#include "query/rows/column.h"

#include <string>

namespace beamdump::render {

/// "BDmp": application_id of a file of exported dumps.
inline constexpr int kSqliteApplication = 0x42446d70;
/// user_version: raised when a table or column changes its meaning or goes.
inline constexpr int kSqliteVersion = 1;

/// A column's name and type, in a statement.
std::string sqlite_column(const query::Column& column);
/// The statements that make the tables, those that are not there.
std::string sqlite_tables();
/// The statements that make tables and views.
std::string sqlite_schema();
/// The statements that make the indexes of a new file: sorted once, when the rows are there.
std::string sqlite_indexes();

}  // namespace beamdump::render
