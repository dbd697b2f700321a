#pragma once

#include "file/layout_file.h"

#include <libdump/base/error.h>

#include <string>
#include <string_view>
#include <vector>

namespace beamdump::layout {

/// What one structure is called in C, over all releases.
struct StructureNames {
    std::vector<std::string> types;  ///< "struct process", or a typedef's name; the first wins
    /// The file name of the only translation unit whose definition counts ("erl_db.c"), where
    /// others see the structure differently; empty: all must agree.
    std::string unit;
    /// C paths by the layout's name for the field; the first that the release has wins.
    Named<std::vector<std::string>> fields;
};

/// What a layout is made of, by the layouts' own names: layout/names.json.
struct Names {
    Named<StructureNames> structures;
    std::vector<std::string> constants;
    Named<std::string> constants_source;
};

Result<Names> parse_names(std::string_view json);
Result<Names> read_names(const std::string& path);

/// layout/names.json as it was when this was built.
Result<Names> builtin_names();

/// Adds what a layout names and `names` does not: such a name is considered the one in C.
void add_names_of(const LayoutFile& layout, Names& names);

}  // namespace beamdump::layout
