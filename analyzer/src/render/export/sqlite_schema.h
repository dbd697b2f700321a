#pragma once

#include <string>

namespace beamdump::render {

/// "BDmp": application_id of a file of exported dumps.
inline constexpr int kSqliteApplication = 0x42446d70;
/// user_version: raised when a table or column changes its meaning or goes.
inline constexpr int kSqliteVersion = 1;

/// The statements that make the tables, those that are not there.
std::string sqlite_tables();
/// The statements that make tables, indexes and views.
std::string sqlite_schema();

}  // namespace beamdump::render
