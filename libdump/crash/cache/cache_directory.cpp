#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libdump/base/write_all.h>
#include <libdump/crash/cache/cache_directory.h>

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <ranges>
#include <span>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace beamdump::crash {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".facts";
constexpr std::string_view kUnfinished = ".unfinished";

std::unexpected<Error> failure(std::string_view what, const fs::path& path) {
    return fail(errno == EACCES || errno == EPERM || errno == EROFS ? ErrorCode::kPermission
                                                                    : ErrorCode::kIo,
                fmt::format("cannot {} {}: {}", what, path.string(), system_error_text(errno)));
}

Result<std::size_t> read_some(int from, std::span<char> into) {
    while (true) {
        const auto got = ::read(from, into.data(), into.size());
        if (got >= 0) {
            return static_cast<std::size_t>(got);
        }
        if (errno != EINTR) {
            return failure("read", "a file of the cache");
        }
    }
}

Result<void> write_whole(int into, std::span<const char> bytes) {
    errno = write_all(into, std::as_bytes(bytes)).error_number;
    return errno == 0 ? Result<void>() : failure("write", "a file of the cache");
}

struct Copied {
    std::uint64_t bytes = 0;
    std::uint64_t checksum = 0;
};

/// Copies at most `most` bytes, from and to the current positions of the files.
Result<Copied> copy(int from, int into, std::uint64_t most) {
    struct FreeState {
        void operator()(XXH64_state_t* state) const { XXH64_freeState(state); }
    };
    const std::unique_ptr<XXH64_state_t, FreeState> state(XXH64_createState());
    XXH64_reset(state.get(), 0);
    std::vector<char> piece(1U << 20U);
    Copied copied;
    while (copied.bytes < most) {
        const auto part =
            std::span(piece).first(std::min<std::uint64_t>(piece.size(), most - copied.bytes));
        ASSIGN_OR_RETURN(const auto got, read_some(from, part));
        if (got == 0) {
            break;
        }
        XXH64_update(state.get(), part.data(), got);
        RETURN_IF_ERROR(write_whole(into, part.first(got)));
        copied.bytes += got;
    }
    copied.checksum = XXH64_digest(state.get());
    return copied;
}

std::string file_name(const std::string& name, std::uint64_t checksum) {
    return fmt::format("{}-{:016x}{}", name, checksum, kSuffix);
}

/// The user's own regular file; not a link to another one.
Descriptor open_own(const fs::path& path) {
    Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status{};
    const bool own = file.valid() && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                     status.st_uid == ::geteuid();
    return own ? std::move(file) : Descriptor();
}

void remove_file(const fs::path& path) {
    std::error_code ignored;
    fs::remove(path, ignored);
}

/// When programs store at the same time, the last one to get here sees the files of all, and
/// every program prefers the same one.
void keep_newest(const std::vector<fs::path>& files) {
    std::vector<std::pair<fs::file_time_type, fs::path>> by_time;
    for (const auto& file : files) {
        std::error_code gone;
        const auto written = fs::last_write_time(file, gone);
        if (!gone) {
            by_time.emplace_back(written, file);
        }
    }
    std::ranges::sort(by_time, std::greater());
    for (const auto& older : by_time | std::views::drop(1)) {
        remove_file(older.second);
    }
}

}  // namespace

fs::path user_cache_directory() {
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);
        return fs::path(value == nullptr ? "" : value);
    };
    if (const auto cache = variable("XDG_CACHE_HOME"); cache.is_absolute()) {
        return cache / "beamdump";
    }
    const auto home = variable("HOME");
    return home.is_absolute() ? home / ".cache" / "beamdump" : fs::path();
}

Result<CacheDirectory> CacheDirectory::open(const fs::path& path, std::uint64_t max_bytes) {
    constexpr mode_t kOwnerOnly = 0700;
    std::error_code ignored;
    fs::create_directories(path.parent_path(), ignored);
    if (::mkdir(path.c_str(), kOwnerOnly) != 0 && errno != EEXIST) {
        return failure("make the directory", path);
    }
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0) {
        return failure("look at", path);
    }
    if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() ||
        (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return fail(ErrorCode::kPermission,
                    fmt::format("{} is not a directory of this user that others cannot write to",
                                path.string()));
    }
    return CacheDirectory(path, max_bytes);
}

Result<std::uint64_t> CacheDirectory::load(const std::string& name, int into) const {
    for (const auto& path : files_of(name)) {
        const auto file = open_own(path);
        if (!file.valid()) {
            continue;
        }
        ASSIGN_OR_RETURN(const auto copied, copy(file.get(), into, max_bytes_));
        if (path.filename() == file_name(name, copied.checksum)) {
            // Used last now.
            ::futimens(file.get(), nullptr);
            return copied.bytes;
        }
        remove_file(path);
        if (::lseek(into, 0, SEEK_SET) != 0 || ::ftruncate(into, 0) != 0) {
            return failure("empty", "a temporary file");
        }
    }
    return fail(ErrorCode::kNotFound, fmt::format("{} has no such file", path_.string()));
}

Result<void> CacheDirectory::store(const std::string& name, int from, std::uint64_t bytes) const {
    if (bytes > max_bytes_ / 2) {
        return fail(ErrorCode::kLimit, fmt::format("{} bytes are too many to keep", bytes));
    }
    std::string unfinished = (path_ / (name + "-XXXXXX")).string() + std::string(kUnfinished);
    Descriptor file(
        ::mkostemps(unfinished.data(), static_cast<int>(kUnfinished.size()), O_CLOEXEC));
    if (!file.valid()) {
        return failure("write to", path_);
    }
    auto copied = ::lseek(from, 0, SEEK_SET) == 0 ? copy(from, file.get(), bytes)
                                                  : Result<Copied>(failure("read", "the dump"));
    if (copied && copied->bytes == bytes) {
        const auto named = path_ / file_name(name, copied->checksum);
        if (::rename(unfinished.c_str(), named.c_str()) == 0) {
            keep_newest(files_of(name));
            remove_old();
            return {};
        }
        copied = failure("rename", unfinished);
    }
    remove_file(unfinished);
    return copied ? Result<void>(fail(ErrorCode::kIo, "the dump is shorter than it was"))
                  : std::unexpected(copied.error());
}

void CacheDirectory::remove(const std::string& name) const {
    std::ranges::for_each(files_of(name), remove_file);
}

std::vector<fs::path> CacheDirectory::files_of(const std::string& name) const {
    std::vector<fs::path> found;
    std::error_code error;
    for (auto entry = fs::directory_iterator(path_, error); !error && entry != fs::end(entry);
         entry.increment(error)) {
        const auto file = entry->path().filename().string();
        if (file.starts_with(name) && file.ends_with(kSuffix)) {
            found.push_back(entry->path());
        }
    }
    return found;
}

/// Keeps the most recently used files, up to max_bytes_, and removes unfinished ones of an hour
/// ago.
void CacheDirectory::remove_old() const {
    struct File {
        fs::file_time_type used;
        std::uint64_t bytes = 0;
        fs::path path;
    };
    std::vector<File> files;
    std::error_code error;
    for (auto entry = fs::directory_iterator(path_, error); !error && entry != fs::end(entry);
         entry.increment(error)) {
        std::error_code gone;
        File file{entry->last_write_time(gone), 0, entry->path()};
        file.bytes = entry->is_regular_file(gone) ? entry->file_size(gone) : 0;
        const auto name = file.path.filename().string();
        constexpr std::chrono::hours kLeft(1);
        if (name.ends_with(kUnfinished) && fs::file_time_type::clock::now() - file.used > kLeft) {
            remove_file(file.path);
        } else if (name.ends_with(kSuffix) && !gone) {
            files.push_back(std::move(file));
        }
    }
    std::ranges::sort(files, std::greater(), &File::used);
    std::uint64_t bytes = 0;
    for (const auto& file : files) {
        bytes += file.bytes;
        if (bytes > max_bytes_) {
            remove_file(file.path);
        }
    }
}

}  // namespace beamdump::crash
