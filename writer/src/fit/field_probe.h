#pragma once

#include "beam/layout/layout.h"

#include <functional>
#include <string>
#include <vector>

namespace beamdump::fit {

/// What the checks of a layout are worth on one node: whether they notice a field that stands
/// elsewhere.
struct FieldVisibility {
    std::vector<std::string> seen;    ///< "Process.heap"
    std::vector<std::string> unseen;  ///< of these a wrong place is not noticed
};

/// Tries the layout with each of its fields moved by eight bytes; those of parts that
/// nothing reads are left out. `fits` says whether a layout passes the checks; `on_progress` is
/// called before each try with how many are done and how many there are.
FieldVisibility probe_fields(const beam::Layout& layout,
                             const std::function<bool(const beam::Layout&)>& fits,
                             const std::function<void(std::size_t, std::size_t)>& on_progress);

}  // namespace beamdump::fit
