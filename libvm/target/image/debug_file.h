#pragma once

#include <libvm/target/image/elf_image.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::target {

/// The file with the symbols that were stripped off an executable (GDB manual, "Debugging
/// Information in Separate Files"): below `root`, by the build id in /usr/lib/debug/.build-id, or
/// by the name in .gnu_debuglink beside the executable, in .debug there, or in /usr/lib/debug; or
/// in `folder`, if that is not empty, by the build id. Its symbols are as loaded where `image` is.
/// Nothing if there is no such file, it has another build id, or `image` has none.
std::optional<ElfImage> open_debug_file(const ElfImage& image, const std::string& executable,
                                        const std::filesystem::path& root,
                                        const std::filesystem::path& folder = {});

/// Where the debug file of a build id (lower case hex) may be: below `root` as
/// "/usr/lib/debug/.build-id/ab/cd.debug", in `folder`, if that is not empty, as
/// ".build-id/ab/cd.debug", and as debuginfod keeps them, "abcd/debuginfo". None for one that is
/// too short.
std::vector<std::filesystem::path> debug_file_paths(std::string_view build_id,
                                                    const std::filesystem::path& root,
                                                    const std::filesystem::path& folder);

}  // namespace beamdump::target
