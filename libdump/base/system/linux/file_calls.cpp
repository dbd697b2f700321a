#include <libdump/base/system/file_calls.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <linux/magic.h>
#include <string>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace beamdump::system {
namespace {

std::int64_t nanoseconds(const timespec& time) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    return time.tv_sec * kSecond + time.tv_nsec;
}

void flush(int file, std::uint64_t from, std::uint64_t until, unsigned how) {
    ::sync_file_range(file, static_cast<off_t>(from), static_cast<off_t>(until - from), how);
}

}  // namespace

FileTimes file_times(const struct stat& facts) {
    return {nanoseconds(facts.st_mtim), nanoseconds(facts.st_ctim)};
}

int rename_to_new(const std::filesystem::path& from, const std::filesystem::path& to) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
        return 0;
    }
    if (errno != EINVAL) {
        return errno;
    }
    // File systems without RENAME_NOREPLACE (NFS): check for the file first.
    if (::access(to.c_str(), F_OK) == 0) {
        return EEXIST;
    }
    return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

bool is_in_memory(const std::filesystem::path& directory) {
    struct statfs system{};
    return ::statfs(directory.c_str(), &system) == 0 &&
           (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}

void begin_writing(int file, std::uint64_t from, std::uint64_t until) {
    flush(file, from, until, SYNC_FILE_RANGE_WRITE);
}

void drop_written(int file, std::uint64_t from, std::uint64_t until) {
    flush(file, from, until,
          SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    ::posix_fadvise(file, static_cast<off_t>(from), static_cast<off_t>(until - from),
                    POSIX_FADV_DONTNEED);
}

void drop_all_written(int file) {
    ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
}

int open_unnamed(const std::filesystem::path& directory) {
    constexpr mode_t kOwnerOnly = 0600;
    int file = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, kOwnerOnly);
    if (file < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
        // A file system without O_TMPFILE.
        std::string name = directory / "beamdump-XXXXXX";
        file = ::mkostemp(name.data(), O_CLOEXEC);
        if (file >= 0) {
            ::unlink(name.c_str());
        }
    }
    return file;
}

int open_in_memory() {
    return ::memfd_create("beamdump", MFD_CLOEXEC);
}

int make_room(int file, std::uint64_t bytes) {
    int refused = EINTR;
    while (refused == EINTR) {
        refused = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
    }
    return refused;
}

}  // namespace beamdump::system
