#pragma once

#include "file/layout_file.h"

#include <libdump/base/error.h>

#include <string>

namespace beamdump::layout {

/// The constants of layout/constants.c, compiled against a release's headers.
struct ConstantsObject {
    Named<std::uint64_t> constants;  ///< beamdump_layout_constant_NAME, sorted by name
    Named<std::string> texts;        ///< beamdump_layout_text_NAME, sorted by name
};

/// Reads the data symbols of an object file or program. Checked: each is inside the file.
Result<ConstantsObject> read_constants(const std::string& path);

}  // namespace beamdump::layout
