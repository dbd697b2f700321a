#pragma once

#include "input/opened_dump.h"

#include <libdump/crash/import/convert.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <sys/types.h>

namespace beamdump::input {

/// Tells a file from another one, and from the same one after a change.
struct FileIdentity {
    dev_t device = 0;
    ino_t inode = 0;
    off_t bytes = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;

    bool operator==(const FileIdentity&) const = default;

    /// nullopt: there is no regular file.
    static std::optional<FileIdentity> of(const std::string& path);
};

/// An open dump that more than one question may be asked of, one after the other.
struct KeptDump {
    OpenedDump opened;
    FileIdentity file;
    crash::ConvertChoice choice;  ///< with which it was opened
    std::stop_source stop;  ///< of InputLimits::stop of its opening; a stopped dump is of no use
};

/// Dumps that stay open between questions: those that were asked last. Not thread-safe.
class KeptDumps {
  public:
    static constexpr std::size_t kMost = 4;

    /// The dump of that path, which is not kept any more; nullopt if there is none whose file is as
    /// it was, and which has what `choice` says of a crash dump.
    std::optional<KeptDump> take(const std::string& path, const crash::ConvertChoice& choice);
    /// Keeps a dump unless a question met damage in it, or was stopped: a dump tells every later
    /// question of what it met.
    void keep(KeptDump kept);

    [[nodiscard]] std::size_t size() const { return kept_.size(); }
    /// How many take() has given.
    [[nodiscard]] std::uint64_t taken() const { return taken_; }

  private:
    std::deque<KeptDump> kept_;  ///< the last one first
    std::uint64_t taken_ = 0;
};

}  // namespace beamdump::input
