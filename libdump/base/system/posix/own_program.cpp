#include <libdump/base/system/own_program.h>

// POSIX has no header for it (environ(7)).
// NOLINTNEXTLINE(readability-redundant-declaration)
extern "C" char** environ;

namespace beamdump::system {

std::optional<OwnProgram> own_program() {
    return std::nullopt;
}

char** environment() {
    return ::environ;
}

}  // namespace beamdump::system
