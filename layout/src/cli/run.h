#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace beamdump::layout {

/// `beamdump-layout`: the arguments without the program's name, in the command line's order.
/// Returns the exit status: 0 done (diff: the same; check: it fits), 1 diff: different, check: it
/// does not fit, 2 failed.
int run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

}  // namespace beamdump::layout
