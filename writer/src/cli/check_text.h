#pragma once

#include "check/node_check.h"

#include <string>

namespace beamdump::cli {

/// The result of --check: the node, what a capture would be, with the line `plan`, and the layout.
/// With `verbose`, for who looks into a fault, also how each of the runtime's tables was found.
std::string check_text(const check::NodeCheck& check, const std::string& plan, bool verbose);

}  // namespace beamdump::cli
