#pragma once

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace beamdump::crash {

/// Which facts of crash dumps are kept for later questions, and where.
struct CacheChoice {
    static constexpr std::uint64_t kDefaultLeast = std::uint64_t{64} << 20U;

    /// Empty: none are kept.
    std::filesystem::path directory;
    /// Smaller texts are searched in less time than an entry is worth.
    std::uint64_t least_bytes = kDefaultLeast;
};

/// The user's: `beamdump` in XDG_CACHE_HOME, if that is an absolute path, else in ~/.cache; none
/// without HOME.
std::filesystem::path user_cache_directory();

/// A directory of files that may be removed at any time. A file's name contains the checksum of its
/// bytes, so that a damaged or truncated file is not used. Files are written under another name and
/// renamed, so several programs may use the directory at the same time.
class CacheDirectory {
  public:
    static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30U;

    /// Makes the directory, 0700, if it is not there. kPermission if it is not the user's own, or
    /// others may write there. `max_bytes`: of all files; the least recently used ones are removed
    /// first.
    static Result<CacheDirectory> open(const std::filesystem::path& path,
                                       std::uint64_t max_bytes = kMaxBytes);

    /// Copies the file of that name, if there is one whose checksum holds, to `into`; returns its
    /// bytes. Others of that name are removed. kNotFound.
    Result<std::uint64_t> load(const std::string& name, int into) const;
    /// Copies the first `bytes` bytes of `from` to a file of that name, which replaces others of
    /// the name, and removes old files. kLimit for more than half of max_bytes.
    Result<void> store(const std::string& name, int from, std::uint64_t bytes) const;
    void remove(const std::string& name) const;

  private:
    CacheDirectory(std::filesystem::path path, std::uint64_t max_bytes)
        : path_(std::move(path)), max_bytes_(max_bytes) {}
    [[nodiscard]] std::vector<std::filesystem::path> files_of(const std::string& name) const;
    void remove_old() const;

    std::filesystem::path path_;
    std::uint64_t max_bytes_;
};

}  // namespace beamdump::crash
