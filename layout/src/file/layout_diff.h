#pragma once

#include "file/layout_file.h"

#include <string>
#include <vector>

namespace beamdump::layout {

/// One line for each structure, field and constant that differs or is in only one of two layouts.
/// Names, releases and sources are not compared.
std::vector<std::string> layout_diff(const LayoutFile& a, const LayoutFile& b);

}  // namespace beamdump::layout
