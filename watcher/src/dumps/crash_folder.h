#pragma once

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace beamdump::watch {

/// Where a node writes its crash dump: ERL_CRASH_DUMP of the environment that it was started with,
/// or erl_crash.dump; relative to its working folder.
std::filesystem::path crash_dump_of(const std::vector<std::string>& environment);

/// The folder in which a node writes its crash dump, held open: it is watched also when the node
/// has ended, and if it is seen only in the node's mount namespace.
class CrashFolder {
  public:
    /// `file`: as crash_dump_of(). kIo: the folder cannot be opened or watched.
    static Result<CrashFolder> open(pid_t node, const std::filesystem::path& file);
    /// Opens the folder of a file by its own path.
    static Result<CrashFolder> open(const std::filesystem::path& file);

    /// Whether the file was written, or moved there, and closed since the last look.
    [[nodiscard]] bool written();
    /// Its size; nothing: it is not there, or not a regular file.
    [[nodiscard]] std::optional<std::uint64_t> bytes() const;
    /// A path for programs that this one starts.
    [[nodiscard]] std::filesystem::path path() const;
    /// The file's name there.
    [[nodiscard]] const std::string& name() const { return name_; }
    Result<void> remove() const;
    [[nodiscard]] bool same_as(const CrashFolder& other) const {
        return folder_id_ == other.folder_id_ && name_ == other.name_;
    }

  private:
    CrashFolder() = default;
    Descriptor folder_;
    std::pair<dev_t, ino_t> folder_id_{};
    std::string name_;
    Descriptor events_;
};

}  // namespace beamdump::watch
