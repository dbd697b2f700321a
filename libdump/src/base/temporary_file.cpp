#include <libdump/base/system_error.h>
#include <libdump/base/temporary_file.h>

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace beamdump {

std::string temporary_directory() {
    const char* set = std::getenv("TMPDIR");
    return set != nullptr && *set != '\0' ? set : "/var/tmp";
}

Result<Descriptor> open_temporary_file() {
    const std::string directory = temporary_directory();
    constexpr mode_t kOwnerOnly = 0600;
    Descriptor file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kOwnerOnly));
    if (!file.valid() && (errno == EOPNOTSUPP || errno == EISDIR)) {
        std::string name = directory + "/beamdump-XXXXXX";
        file = Descriptor(::mkostemp(name.data(), O_CLOEXEC));
        if (file.valid()) {
            ::unlink(name.c_str());
        }
    }
    if (!file.valid()) {
        return fail(
            ErrorCode::kIo,
            fmt::format(
                "cannot create a temporary file in {}: {}; set TMPDIR to a writable directory",
                directory, system_error_text(errno)));
    }
    return file;
}

}  // namespace beamdump
