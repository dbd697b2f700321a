#pragma once

#include <manual/usage.h>

#include <string>

namespace beamdump::manual {

/// A man page of section 1, in the macros of man(7).
std::string man_page(const ProgramUsage& usage);

/// Completion for bash: a function for `complete -F`.
std::string bash_completion(const ProgramUsage& usage);

/// Completion for zsh: a function for compinit, which is found by its first line.
std::string zsh_completion(const ProgramUsage& usage);

/// Completion for fish: one `complete` command for each command and option.
std::string fish_completion(const ProgramUsage& usage);

}  // namespace beamdump::manual
