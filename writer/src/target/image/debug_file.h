#pragma once

#include "target/image/elf_image.h"

#include <filesystem>
#include <optional>
#include <string>

namespace beamdump::target {

/// The file with the symbols that were stripped off an executable (GDB manual, "Debugging
/// Information in Separate Files"): below `root`, by the build id in /usr/lib/debug/.build-id, or
/// by the name in .gnu_debuglink beside the executable, in .debug there, or in /usr/lib/debug. Its
/// symbols are as loaded where `image` is. Nothing if there is no such file, it has another build
/// id, or `image` has none.
std::optional<ElfImage> open_debug_file(const ElfImage& image, const std::string& executable,
                                        const std::filesystem::path& root);

}  // namespace beamdump::target
