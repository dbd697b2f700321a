#include <libdump/base/system_error.h>
#include <libdump/read/file/file_source.h>

#include <fmt/format.h>

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace beamdump {

Result<FileSource> FileSource::open(const std::filesystem::path& path) {
    std::string name = path.string();
    // O_NONBLOCK: do not wait for the writer of a named pipe.
    Descriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    return of(std::move(file), std::move(name));
}

Result<FileSource> FileSource::of(Descriptor file, std::string name) {
    struct stat status{};
    if (!file.valid() || ::fstat(file.get(), &status) != 0) {
        return std::unexpected(cannot_open(name));
    }
    if (!S_ISREG(status.st_mode)) {
        return fail(ErrorCode::kNotADump,
                    fmt::format("{} is {}; a dump is read from a regular file", name,
                                S_ISDIR(status.st_mode)    ? "a directory"
                                : S_ISFIFO(status.st_mode) ? "a pipe"
                                                           : "a device or socket"));
    }
    return FileSource(std::move(name), std::move(file), static_cast<std::uint64_t>(status.st_size));
}

Result<FileSource> FileSource::duplicate() const {
    Descriptor file(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
    if (!file.valid()) {
        return fail(ErrorCode::kIo, fmt::format("cannot open {} a second time: {}", name_,
                                                system_error_text(errno)));
    }
    return FileSource(name_, std::move(file), size_);
}

Result<void> FileSource::read(std::uint64_t offset, std::span<std::byte> into) {
    std::size_t done = 0;
    while (done < into.size()) {
        const auto rest = into.subspan(done);
        const ssize_t count =
            ::pread(file_.get(), rest.data(), rest.size(), static_cast<off_t>(offset + done));
        if (count > 0) {
            done += static_cast<std::size_t>(count);
            bytes_read_ += static_cast<std::uint64_t>(count);
        } else if (count == 0) {
            return fail(ErrorCode::kTruncated,
                        fmt::format("{} ends at byte {}, where {} bytes at {} were to be read",
                                    name_, offset + done, into.size(), offset));
        } else if (errno != EINTR) {
            return fail(ErrorCode::kIo,
                        fmt::format("cannot read {} bytes at byte {} of {}: {}", into.size(),
                                    offset, name_, system_error_text(errno)));
        }
    }
    return {};
}

}  // namespace beamdump
