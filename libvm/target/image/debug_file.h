#pragma once

#include <libvm/target/image/elf_image.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::target {

/// The file with the symbols that were stripped off an executable (GDB manual, "Debugging
/// Information in Separate Files"): below `root`, by the build id in /usr/lib/debug/.build-id, or
/// by the name in .gnu_debuglink beside the executable, in .debug there, or in /usr/lib/debug. Its
/// symbols are as loaded where `image` is. Nothing if there is no such file, it has another build
/// id, or `image` has none.
std::optional<ElfImage> open_debug_file(const ElfImage& image, const std::string& executable,
                                        const std::filesystem::path& root);

/// Where the debug file of a build id (lower case hex) is: "/usr/lib/debug/.build-id/ab/cd.debug";
/// empty for one that is too short.
std::string debug_file_path(std::string_view build_id);

}  // namespace beamdump::target
