#pragma once

#include <CLI/App.hpp>

#include <string>

namespace beamdump::manual {

/// A parser's error as one line. For an option that the program or the command given does not have,
/// it suggests the one whose name is nearest; without a suggestion it names --help.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace beamdump::manual
