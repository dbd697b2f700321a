#pragma once

#include <cstdint>
#include <optional>

namespace beamdump::system {

/// What tells the file of this program from that of another version.
struct OwnProgram {
    std::uint64_t bytes = 0;
    std::int64_t modified_ns = 0;  ///< since 1970
};
/// Nothing: it is not known. So in posix.
std::optional<OwnProgram> own_program();

/// The variables of this process, as environ(7); the last one is null.
char** environment();

}  // namespace beamdump::system
