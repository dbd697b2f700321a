#include <libdump/base/system/file_calls.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace beamdump::system {
namespace {

std::int64_t nanoseconds(const timespec& time) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    return time.tv_sec * kSecond + time.tv_nsec;
}

}  // namespace

FileTimes file_times(const struct stat& facts) {
#ifdef __APPLE__
    return {nanoseconds(facts.st_mtimespec), nanoseconds(facts.st_ctimespec)};
#else
    return {nanoseconds(facts.st_mtim), nanoseconds(facts.st_ctim)};
#endif
}

int rename_to_new(const std::filesystem::path& from, const std::filesystem::path& to) {
    if (::link(from.c_str(), to.c_str()) == 0) {
        ::unlink(from.c_str());
        return 0;
    }
    if (errno == EEXIST) {
        return EEXIST;
    }
    // File systems without links: check for the file first.
    if (::access(to.c_str(), F_OK) == 0) {
        return EEXIST;
    }
    return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

bool is_in_memory(const std::filesystem::path& /*directory*/) {
    return false;
}

void begin_writing(int /*file*/, std::uint64_t /*from*/, std::uint64_t /*until*/) {}

void drop_written(int /*file*/, std::uint64_t /*from*/, std::uint64_t /*until*/) {}

void drop_all_written(int /*file*/) {}

int open_unnamed(const std::filesystem::path& directory) {
    std::string name = directory / "beamdump-XXXXXX";
    const int file = ::mkstemp(name.data());
    if (file >= 0) {
        ::unlink(name.c_str());
        ::fcntl(file, F_SETFD, FD_CLOEXEC);
    }
    return file;
}

int open_in_memory() {
    errno = ENOSYS;
    return -1;
}

/// By writing zeros: macOS has no posix_fallocate(), and some file systems have none.
int make_room(int file, std::uint64_t bytes) {
    static constexpr std::array<char, std::size_t{64} << 10U> kZeros{};
    struct stat facts{};
    if (::fstat(file, &facts) != 0) {
        return errno;
    }
    for (auto at = static_cast<std::uint64_t>(facts.st_size); at < bytes;) {
        const auto part = std::min<std::uint64_t>(kZeros.size(), bytes - at);
        const auto done = ::pwrite(file, kZeros.data(), part, static_cast<off_t>(at));
        if (done < 0 && errno != EINTR) {
            return errno;
        }
        at += static_cast<std::uint64_t>(std::max<ssize_t>(done, 0));
    }
    return 0;
}

}  // namespace beamdump::system
