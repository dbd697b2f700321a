#pragma once

#include <libdump/base/descriptor.h>
#include <libvm/target/process/head_room.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <sys/types.h>
#include <thread>

namespace beamdump::target {

/// How much memory must be left while a twin lives, and where.
struct TwinFloor {
    HeadRoom node;
    HeadRoom own;
    std::uint64_t bytes = 0;
};

/// Looks every few milliseconds, on a thread of its own, whether enough memory is left, and ends
/// the twin at once where it is not: its reader may be waiting for a slow disk or pipe. Ends
/// it also when the node has ended, whose descriptors it keeps open.
class TwinWatcher {
  public:
    /// `twin` must not be reaped before the watcher has ended.
    TwinWatcher(pid_t node, pid_t twin, TwinFloor floor);
    TwinWatcher(const TwinWatcher&) = delete;
    TwinWatcher& operator=(const TwinWatcher&) = delete;
    ~TwinWatcher();

    /// kLimit: the twin was ended; which limit, and how much is left. Or why that cannot be known.
    [[nodiscard]] Result<void> verdict() const;

  private:
    void watch();
    [[nodiscard]] Result<void> look() const;
    [[nodiscard]] bool node_ends_within_moment() const;

    pid_t node_;
    pid_t twin_;
    TwinFloor floor_;
    Descriptor node_handle_;  // readable once the node has ended
    std::atomic<bool> wanted_ = true;
    mutable std::mutex mutex_;
    std::optional<Error> reason_;
    std::thread thread_;
};

}  // namespace beamdump::target
