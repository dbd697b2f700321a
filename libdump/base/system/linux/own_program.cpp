#include <libdump/base/system/file_calls.h>
#include <libdump/base/system/own_program.h>

#include <unistd.h>

namespace beamdump::system {

std::optional<OwnProgram> own_program() {
    struct stat facts{};
    if (::stat("/proc/self/exe", &facts) != 0) {
        return std::nullopt;
    }
    return OwnProgram{static_cast<std::uint64_t>(facts.st_size), file_times(facts).modified_ns};
}

char** environment() {
    return ::environ;
}

}  // namespace beamdump::system
