#pragma once

#include <libdump/base/error.h>

#include <optional>
#include <ostream>
#include <string>

namespace beamdump::layout {

struct CheckOptions {
    std::string target;      ///< a process id, or else the path of an ELF core
    std::string layout;      ///< a file; empty: the built-in layout of the node's release
    std::string executable;  ///< of a core, if it is not at the path in the core
};

/// Checks a layout on a running node or a core, and writes the results to `out`. Returns why it
/// does not fit; nullopt if it fits. Reads only; nothing is stopped. Fails if it could not be
/// checked.
Result<std::optional<std::string>> check_layout(const CheckOptions& options, std::ostream& out);

}  // namespace beamdump::layout
