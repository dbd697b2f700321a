#pragma once

#include <libdump/base/error.h>

#include <optional>
#include <ostream>
#include <string>

namespace beamdump::layout {

struct CheckOptions {
    std::string target;      ///< a process id, or else the path of an ELF core
    std::string layout;      ///< a file; empty: the built-in layout of the node's release
    std::string executable;  ///< of a core, where it is not at the path that the core names
};

/// Tries a layout on a running node or a core, and writes what that showed to `out`. Gives why it
/// does not fit, or nothing. Reads only; nothing is stopped. Errors: it could not be tried.
Result<std::optional<std::string>> check_layout(const CheckOptions& options, std::ostream& out);

}  // namespace beamdump::layout
