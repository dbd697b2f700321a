#pragma once

#include "fit/layout_check.h"

#include <string>
#include <vector>

namespace beamdump::fit {

/// Lines for the user: the layout, what of the node was examined, how many fields are verified by
/// that, and which are not.
std::string layout_text(const LayoutFit& fit);

/// "Structure.field"s, one paragraph a structure.
std::string fields_text(const std::vector<std::string>& names);

}  // namespace beamdump::fit
