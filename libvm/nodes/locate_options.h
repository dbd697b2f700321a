#pragma once

#include <libvm/beam/locate/locate.h>

#include <filesystem>
#include <optional>

namespace beamdump::nodes {

/// How to locate a node by the options of a command line. `layout`: a file to use for any release,
/// or a folder of otp-*.json to use instead of the built-in ones. kNotFound: it is not there, or
/// has none; and errors of Layout::parse(). `debug_folder`: with debug files, must be a folder;
/// empty: none.
Result<beam::LocateOptions> locate_options(const std::optional<std::filesystem::path>& layout,
                                           bool no_symbols,
                                           const std::filesystem::path& debug_folder = {});

}  // namespace beamdump::nodes
