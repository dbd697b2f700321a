#pragma once

#include "dwarf/constants_object.h"
#include "dwarf/debug_types.h"
#include "file/layout_file.h"
#include "file/names.h"

#include <libdump/base/error.h>

#include <string>
#include <vector>

namespace beamdump::layout {

struct Extracted {
    Named<Structure> structs;
    Named<std::uint64_t> constants;
    /// One sentence for each structure, field or constant that `names` has and the release lacks.
    std::vector<std::string> missing;
};

/// Reads all offsets and sizes for `names`. A flexible array member counts as one element inside
/// its structure, as if declared [1]. Fails if two translation units see a structure differently.
Result<Extracted> extract(const DebugTypes& types, const ConstantsObject& constants,
                          const Names& names);

}  // namespace beamdump::layout
