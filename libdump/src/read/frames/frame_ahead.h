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
    /// Null if no thread can be started: the caller then loads frames itself.
    static std::unique_ptr<FrameAhead> start(FileSource file, FrameLoader loader);
    FrameAhead(const FrameAhead&) = delete;
    FrameAhead& operator=(const FrameAhead&) = delete;
    /// Waits for the frame being loaded.
    ~FrameAhead();

    /// Starts loading a frame, in place of an earlier one that was not taken.
    void fetch(std::size_t position, const FrameRef& where);

    /// The frame at `position` or the error; waits while it is being loaded. nullopt if another
    /// frame was fetched, or if the thread had not begun, which cancels it.
    std::optional<Result<std::shared_ptr<const Frame>>> take(std::size_t position);

    /// Statistics of the thread. Waits for the frame fetched last.
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

    FileSource file_;     // used by the thread while a frame is being loaded
    FrameLoader loader_;  // likewise

    std::mutex mutex_;  // of all below
    std::condition_variable changed_;
    std::optional<Order> order_;  ///< not begun by the thread
    std::optional<std::size_t> under_way_;
    std::optional<Fetched> fetched_;
    bool stopping_ = false;

    std::thread thread_;
};

}  // namespace beamdump
