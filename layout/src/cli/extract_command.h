#pragma once

#include <libdump/base/error.h>

#include <ostream>
#include <string>

namespace beamdump::layout {

struct ExtractOptions {
    std::string program;    ///< built with -g
    std::string constants;  ///< layout/constants.c compiled with its flags; may be empty
    std::string like;       ///< a layout whose names are added; may be empty
    std::string names;      ///< instead of the built-in layout/names.json; may be empty
    std::string release;    ///< if the constants do not have it
    std::string source;     ///< the release's exact version and package
    std::string output;
};

/// Writes the layout to options.output, and one line to `err` for each name that the release lacks.
Result<void> extract_to_file(const ExtractOptions& options, std::ostream& err);

}  // namespace beamdump::layout
