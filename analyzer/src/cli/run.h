#pragma once

#include "cli/exit_status.h"
#include "render/output.h"

#include <string>
#include <vector>

namespace beamdump::cli {

/// The whole program: `arguments` without its name, the answer to `out`, everything else to `err`.
ExitStatus run(const std::vector<std::string>& arguments, render::Output& out, render::Output& err);

}  // namespace beamdump::cli
