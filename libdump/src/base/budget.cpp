#include <libdump/base/amount_text.h>
#include <libdump/base/budget.h>
#include <libdump/base/temporary_file.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <sys/statvfs.h>

namespace beamdump {
std::uint64_t InputLimits::temporary_bytes() const {
    if (temporary) {
        return *temporary;
    }
    struct statvfs there{};
    if (::statvfs(temporary_directory().c_str(), &there) != 0) {
        return kMaxDefaultTemporary;
    }
    return std::min<std::uint64_t>(kMaxDefaultTemporary, there.f_bavail * there.f_frsize / 2);
}

Result<void> Budget::take_temporary(std::uint64_t bytes) {
    if (bytes > temporary_left()) {
        return fail(
            ErrorCode::kLimit,
            fmt::format("it needs more than {} of temporary files in {}, which is the limit; raise "
                        "it with --max-temporary, or set TMPDIR to another directory",
                        bytes_text(most_temporary_), temporary_directory()));
    }
    temporary_ += bytes;
    return {};
}

Result<void> Budget::memory_error() const {
    return fail(ErrorCode::kLimit, fmt::format("its contents need more than {} of memory, which is "
                                               "the limit; raise it with --max-memory",
                                               bytes_text(most_memory_)));
}

}  // namespace beamdump
