#pragma once

#include <libvm/fit/layout_check.h>

#include <string>
#include <vector>

namespace beamdump::fit {

/// Lines for the user: the layout, what was examined on the node, and, where that was tried, how
/// many fields that verifies, and which fields remain unverified.
std::string layout_text(const LayoutFit& fit);

/// "Structure.field"s, one paragraph a structure.
std::string fields_text(const std::vector<std::string>& names);

}  // namespace beamdump::fit
