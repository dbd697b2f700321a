#pragma once

#include <CLI/App.hpp>

namespace beamdump::manual {

/// Wraps descriptions in the help to the columns of the terminal of standard output, or to 80. To
/// be called before commands are added, which take it over.
void fit_help(CLI::App& app);

}  // namespace beamdump::manual
