#include <libdump/base/amount_text.h>
#include <libdump/base/budget.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/temporary_file.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <sys/statvfs.h>

namespace beamdump {
namespace {

/// Data that is small enough stays in memory (TemporaryFile), however full the directory is.
constexpr std::uint64_t kLeastDefaultTemporary = std::uint64_t{16} << 20U;

std::optional<std::uint64_t> free_bytes() {
    struct statvfs there{};
    return ::statvfs(temporary_directory().c_str(), &there) == 0
               ? std::optional<std::uint64_t>(there.f_bavail * there.f_frsize)
               : std::nullopt;
}

}  // namespace

std::uint64_t InputLimits::temporary_bytes() const {
    if (temporary) {
        return *temporary;
    }
    const auto room = free_bytes();
    return room ? std::clamp(*room / 2, kLeastDefaultTemporary, kMaxDefaultTemporary)
                : kMaxDefaultTemporary;
}

Result<void> check_stop(const std::stop_token& stop) {
    return stop.stop_requested()
               ? fail(ErrorCode::kLimit, "stopped before the answer was complete: it was cancelled")
               : Result<void>();
}

Result<void> Budget::take_temporary(std::uint64_t bytes) {
    RETURN_IF_ERROR(check_stop(stop_));
    if (bytes > temporary_left()) {
        if (const auto room = free_bytes(); room && *room < most_temporary_) {
            return fail(
                ErrorCode::kNoSpace,
                fmt::format("it needs more than {} of temporary files, and {} has only {} "
                            "free: free space there, or set TMPDIR to a directory with more",
                            bytes_text(most_temporary_), temporary_directory(), bytes_text(*room)));
        }
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
