#pragma once

#include <libdump/base/error.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::cli {

/// The names of the dumps that questions may be asked about, and the folders where others are. A
/// name is the path as it was given. Not thread-safe.
class Dumps {
  public:
    static constexpr std::size_t kMost = 1000;

    /// kNotFound, kNotADump: a folder is none.
    static Result<Dumps> make(const std::vector<std::string>& folders);

    /// The path of a file in an allowed folder, links resolved. kPermission: it is elsewhere, or no
    /// regular file; kNotFound.
    [[nodiscard]] Result<std::string> allowed(const std::string& path) const;
    /// The path of a file to write in an allowed folder; kPermission, kNotFound: its folder.
    [[nodiscard]] Result<std::string> writable(const std::string& path) const;

    /// Adds a dump; it may be there already. kLimit.
    Result<void> add(const std::string& path);
    /// By its path, or by its file name if no other dump has that. kNotFound, with those that are
    /// open.
    [[nodiscard]] Result<std::string> find(std::string_view name) const;
    [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }
    [[nodiscard]] const std::vector<std::string>& folders() const { return folders_; }

  private:
    [[nodiscard]] Result<void> check_folder(const std::string& folder,
                                            const std::string& path) const;

    std::vector<std::string> folders_;  ///< links resolved
    std::vector<std::string> paths_;
};

}  // namespace beamdump::cli
