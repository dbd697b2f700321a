#pragma once

#include <libdump/base/error.h>
#include <libdump/read/file/file_source.h>
#include <libdump/read/frames/frame_ahead.h>
#include <libdump/read/frames/frame_cache.h>
#include <libdump/read/frames/frame_index.h>
#include <libdump/read/frames/frame_loader.h>
#include <libdump/read/frames/read_stats.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

namespace beamdump {

/// A dump's frames by flat offset, through the cache. In sequential reads, forwards or backwards,
/// the next frames are loaded ahead (FrameAhead); an error there is returned only when that frame
/// is requested. With one thread that is one frame, of one run of reads; with more, several, of
/// several runs that take turns, as the reads of a heap do. An unreadable frame is remembered with
/// its error and not read again.
class FrameStore {
  public:
    FrameStore(FileSource file, FrameLoader loader, FrameIndex index, std::size_t cache_bytes,
               unsigned threads = 1, std::stop_token stop = {})
        : file_(std::move(file)),
          loader_(std::move(loader)),
          index_(std::move(index)),
          cache_(cache_bytes),
          threads_(threads),
          stop_(std::move(stop)),
          runs_(threads > 1 ? kRuns : 1) {}

    /// The frame with a flat offset. kCorrupt outside the stream, in a gap, and if the frame is
    /// damaged; kLimit after a request of `stop`.
    Result<std::shared_ptr<const Frame>> at(std::uint64_t flat_offset);
    /// By its position in index().
    Result<std::shared_ptr<const Frame>> by_position(std::size_t position);

    [[nodiscard]] const FrameIndex& index() const { return index_; }
    [[nodiscard]] const FileSource& file() const { return file_; }
    /// Statistics so far, including loading ahead.
    [[nodiscard]] ReadStats stats() const;
    [[nodiscard]] const FrameCache& cache() const { return cache_; }
    /// Requested frames that cannot be read.
    [[nodiscard]] const std::optional<UnreadableFrames>& unreadable() const { return unreadable_; }

  private:
    Result<std::shared_ptr<const Frame>> load(std::size_t position);
    void read_on(std::size_t position);
    void fetch_after(std::size_t position, std::ptrdiff_t step);
    void remember(std::size_t position, const Error& error);
    [[nodiscard]] FrameAhead* ahead();

    static constexpr std::size_t kRuns = 16;

    /// Misses of the cache at neighbouring positions, one after the other.
    struct Run {
        std::size_t last = 0;
        std::ptrdiff_t step = 0;  ///< from each to the next: 1 or -1; 0: no run
        std::size_t length = 0;
    };
    Run& run_with(std::size_t position);

    FileSource file_;
    FrameLoader loader_;
    FrameIndex index_;
    FrameCache cache_;
    std::map<std::size_t, Error> failed_;  ///< by position
    std::optional<UnreadableFrames> unreadable_;
    unsigned threads_;
    std::stop_token stop_;
    std::vector<Run> runs_;              ///< the one that went on last first
    std::unique_ptr<FrameAhead> ahead_;  ///< null before it is first needed
    bool ahead_failed_ = false;
};

}  // namespace beamdump
