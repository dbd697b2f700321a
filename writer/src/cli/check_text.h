#pragma once

#include "check/node_check.h"

#include <string>

namespace beamdump::cli {

/// The result of --check, in lines that a user can send to another person.
std::string check_text(const check::NodeCheck& check);

}  // namespace beamdump::cli
