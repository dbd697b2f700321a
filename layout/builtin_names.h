#pragma once

#include <string_view>

namespace beamdump::layout {

/// The text of layout/names.json, which the build puts into the program.
std::string_view builtin_names_json();

}  // namespace beamdump::layout
