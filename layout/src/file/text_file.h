#pragma once

#include <libdump/base/error.h>

#include <string>
#include <string_view>

namespace beamdump::layout {

/// A whole text file of 16 MiB at most.
Result<std::string> read_text(const std::string& path);

/// Writes all of it, instead of what was there.
Result<void> write_text(const std::string& path, std::string_view text);

}  // namespace beamdump::layout
