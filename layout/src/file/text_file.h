#pragma once

#include <libdump/base/error.h>

#include <string>
#include <string_view>

namespace beamdump::layout {

/// A whole text file of 16 MiB at most.
Result<std::string> read_text(const std::string& path);

/// Replaces the file's contents.
Result<void> write_text(const std::string& path, std::string_view text);

}  // namespace beamdump::layout
