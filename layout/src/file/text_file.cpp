#include "file/text_file.h"

#include <libdump/base/system_error.h>

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace beamdump::layout {
namespace {

constexpr std::uintmax_t kMaxBytes = 16U << 20U;

std::unexpected<Error> refused(std::string_view doing, const std::string& path, int error_number) {
    return fail(ErrorCode::kIo,
                fmt::format("cannot {} {}: {}", doing, path, system_error_text(error_number)));
}

}  // namespace

Result<std::string> read_text(const std::string& path) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    if (error) {
        return refused("read", path, error.value());
    }
    if (bytes > kMaxBytes) {
        return fail(ErrorCode::kLimit, fmt::format("{} has {} bytes; {} are the most that is read",
                                                   path, bytes, kMaxBytes));
    }
    std::string text(bytes, '\0');
    std::ifstream file(path, std::ios::binary);
    errno = 0;
    if (!file.read(text.data(), static_cast<std::streamsize>(bytes))) {
        return refused("read", path, errno != 0 ? errno : EIO);
    }
    return text;
}

Result<void> write_text(const std::string& path, std::string_view text) {
    errno = 0;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text << std::flush;
    if (!file) {
        return refused("write", path, errno != 0 ? errno : EIO);
    }
    return {};
}

}  // namespace beamdump::layout
