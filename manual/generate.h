#pragma once

#include <CLI/App.hpp>

namespace beamdump::manual {

/// Adds `--generate man|bash|zsh|fish` to a program: its man page, or its completions for a shell,
/// from the same declarations as --help. To be called when all options and commands are declared.
/// The parser throws CLI::CallForVersion, whose text is the document without its last newline.
void add_generate(CLI::App& app);

}  // namespace beamdump::manual
