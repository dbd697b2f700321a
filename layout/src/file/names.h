#pragma once

#include "file/layout_file.h"

#include <libdump/base/error.h>

#include <string>
#include <string_view>
#include <vector>

namespace beamdump::layout {

/// The C names of one structure in all releases.
struct StructureNames {
    std::vector<std::string> types;  ///< "struct process", or a typedef's name; the first wins
    /// The file name of the only translation unit whose definition counts ("erl_db.c"), where
    /// others see the structure differently; empty: all must agree.
    std::string unit;
    /// C paths by the layout's name for the field; the first that the release has wins.
    Named<std::vector<std::string>> fields;
};

/// All names of a layout: layout/names.json.
struct Names {
    Named<StructureNames> structures;
    std::vector<std::string> constants;
    Named<std::string> constants_source;
};

Result<Names> parse_names(std::string_view json);
Result<Names> read_names(const std::string& path);

/// layout/names.json, built in.
Result<Names> builtin_names();

/// Adds names of a layout that `names` lacks; they are taken as the names in C.
void add_names_of(const LayoutFile& layout, Names& names);

}  // namespace beamdump::layout
