#pragma once

#include "read/file/file_source.h"
#include "read/frames/frame.h"
#include "read/frames/frame_index.h"
#include "read/frames/frame_loader.h"

#include <libdump/base/error.h>
#include <libdump/read/dump_reader.h>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace beamdump {

/// Loads one frame in a thread of its own while the caller works on another. Holds at most one
/// loaded frame and one being loaded. All calls from one thread.
class FrameAhead {
  public:
    /// Null where the system gives no thread: whoever asks then loads frames itself.
    static std::unique_ptr<FrameAhead> start(FileSource file, FrameLoader loader);
    FrameAhead(const FrameAhead&) = delete;
    FrameAhead& operator=(const FrameAhead&) = delete;
    /// Waits for the frame being loaded.
    ~FrameAhead();

    /// Has a frame loaded, in place of any that was asked for before and not taken.
    void fetch(std::size_t position, const FrameRef& where);

    /// What became of the frame at `position`; waits where it is being loaded. Nothing where it is
    /// another that was fetched, or where the thread did not get to it: then it no longer will.
    std::optional<Result<std::shared_ptr<const Frame>>> take(std::size_t position);

    /// Of all that the thread did. Waits for the frame fetched last.
    ReadStats stats();

  private:
    struct Order {
        std::size_t position = 0;
        FrameRef where;
    };
    struct Fetched {
        std::size_t position = 0;
        Result<std::shared_ptr<const Frame>> frame;
    };

    FrameAhead(FileSource file, FrameLoader loader)
        : file_(std::move(file)), loader_(std::move(loader)) {}
    void work();
    [[nodiscard]] std::optional<Fetched> load(const Order& order);

    FileSource file_;     // the thread's, while anything is under way
    FrameLoader loader_;  // likewise

    std::mutex mutex_;  // of all below
    std::condition_variable changed_;
    std::optional<Order> order_;  ///< that the thread has not begun
    std::optional<std::size_t> under_way_;
    std::optional<Fetched> fetched_;
    bool stopping_ = false;

    std::thread thread_;
};

}  // namespace beamdump
