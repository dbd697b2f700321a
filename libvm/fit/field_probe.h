#pragma once

#include <libvm/beam/layout/layout.h>

#include <functional>
#include <string>
#include <vector>

namespace beamdump::fit {

/// Measures on one node which fields of a layout are verified: whether the checks fail when the
/// field is moved.
struct FieldVisibility {
    std::vector<std::string> seen;    ///< "Process.heap"
    std::vector<std::string> unseen;  ///< of these a wrong place is not noticed
};

/// Tries the layout with each of its fields moved by eight bytes, except fields of parts that
/// nothing reads. `fits` returns whether a layout passes the checks; `on_progress` is called before
/// each try with the number done and the total.
FieldVisibility probe_fields(const beam::Layout& layout,
                             const std::function<bool(const beam::Layout&)>& fits,
                             const std::function<void(std::size_t, std::size_t)>& on_progress);

}  // namespace beamdump::fit
