#pragma once

#include "check/node_check.h"

#include <string>

namespace beamdump::cli {

/// What --check found, in lines for the user who sends them to another.
std::string check_text(const check::NodeCheck& check);

}  // namespace beamdump::cli
