#pragma once

#include <libdump/base/error.h>
#include <libdump/read/file/file_source.h>
#include <libdump/read/frames/frame.h>
#include <libdump/read/frames/frame_index.h>
#include <libdump/read/frames/frame_loader.h>
#include <libdump/read/frames/read_stats.h>

#include <condition_variable>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace beamdump {

/// Loads frames in threads of their own while the caller works on others. All calls from one
/// thread.
class FrameAhead {
  public:
    struct Bounds {
        unsigned threads = 1;
        /// Most frames that are fetched and not taken, and their bytes; one in any case. A thread
        /// may have one more, which was dropped while it was being loaded.
        std::size_t frames = 1;
        std::size_t bytes = 0;
    };

    /// With fewer threads if not all can be started. Null without any: the caller then loads frames
    /// itself.
    static std::unique_ptr<FrameAhead> start(const FileSource& file, const FrameLoader& loader,
                                             const Bounds& bounds);
    FrameAhead(const FrameAhead&) = delete;
    FrameAhead& operator=(const FrameAhead&) = delete;
    /// Waits for the frames being loaded.
    ~FrameAhead();

    /// Starts loading a frame; drops those fetched first where the bounds ask for it.
    void fetch(std::size_t position, const FrameRef& where);
    /// Whether the frame was fetched, and neither dropped nor taken.
    [[nodiscard]] bool has(std::size_t position) const;

    /// The frame at `position` or the error; waits while it is being loaded. nullopt if it was not
    /// fetched, or if no thread had begun, which cancels it.
    std::optional<Result<std::shared_ptr<const Frame>>> take(std::size_t position);

    /// Statistics of the threads. Waits for all frames that were fetched.
    ReadStats stats();

  private:
    using Loaded = Result<std::shared_ptr<const Frame>>;
    enum class State : std::uint8_t { kOrdered, kUnderWay, kLoaded };
    struct Fetched {
        std::size_t position = 0;
        FrameRef where;
        State state = State::kOrdered;
        std::optional<Loaded> frame;  ///< of kLoaded; nullopt if memory ran out
    };
    /// A thread, and what it alone uses while it loads a frame.
    struct Worker {
        FileSource file;
        FrameLoader loader;
        std::thread thread;
    };

    explicit FrameAhead(const Bounds& bounds) : bounds_(bounds) {}
    void work(Worker& worker);
    static std::optional<Loaded> load(Worker& worker, const FrameRef& where);
    [[nodiscard]] std::list<Fetched>::iterator find(std::size_t position);

    Bounds bounds_;
    std::vector<std::unique_ptr<Worker>> workers_;

    mutable std::mutex mutex_;  // of all below
    std::condition_variable changed_;
    std::list<Fetched> fetched_;  ///< the first one first; only the caller removes any
    std::size_t under_way_ = 0;   ///< dropped ones, too
    bool stopping_ = false;
};

}  // namespace beamdump
