#pragma once

#include <libdump/base/error.h>

#include <ostream>
#include <string>

namespace beamdump::layout {

struct ExtractOptions {
    std::string program;    ///< built with -g
    std::string constants;  ///< layout/constants.c compiled with its flags; may be empty
    std::string like;       ///< a layout whose names count too; may be empty
    std::string names;      ///< instead of the built-in layout/names.json; may be empty
    std::string release;    ///< where the constants do not tell it
    std::string source;     ///< the release's exact version and package
    std::string output;
};

/// Writes the layout to options.output and what the release lacks to `err`, one line each.
Result<void> extract_to_file(const ExtractOptions& options, std::ostream& err);

}  // namespace beamdump::layout
