#pragma once

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace beamdump::crash {

/// Files that may be thrown away at any time. A file's name has the checksum of its bytes, so that
/// one that is damaged or cut is not used. Written to another name first, so that several programs
/// may use the directory at one time.
class CacheDirectory {
  public:
    static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30U;

    /// Makes the directory, 0700, if it is not there. kPermission if it is not the user's own, or
    /// others may write there. `max_bytes`: of all files; those that were not used for longest are
    /// removed.
    static Result<CacheDirectory> open(const std::filesystem::path& path,
                                       std::uint64_t max_bytes = kMaxBytes);

    /// Copies the file of that name, if there is one whose checksum holds, to `into`; returns its
    /// bytes. Others of that name are removed. kNotFound.
    Result<std::uint64_t> load(const std::string& name, int into) const;
    /// Copies so many bytes from the beginning of `from` to a file of that name, in place of
    /// others; then removes old files. kLimit for more than half of the bytes that all may have.
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
