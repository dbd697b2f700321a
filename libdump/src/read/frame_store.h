#pragma once

#include "file_source.h"
#include "frame_cache.h"
#include "frame_index.h"
#include "frame_loader.h"

#include <libdump/base/error.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace beamdump {

/// Gives a dump's frames by flat offset, through the cache.
class FrameStore {
  public:
    FrameStore(FileSource file, FrameLoader loader, FrameIndex index, std::size_t cache_bytes)
        : file_(std::move(file)),
          loader_(std::move(loader)),
          index_(std::move(index)),
          cache_(cache_bytes) {}

    /// The frame that holds a flat offset. kCorrupt outside the stream, in a gap of it, and where
    /// the frame is damaged.
    Result<std::shared_ptr<const Frame>> at(std::uint64_t flat_offset);
    /// By its position in index().
    Result<std::shared_ptr<const Frame>> by_position(std::size_t position);

    [[nodiscard]] const FrameIndex& index() const { return index_; }
    [[nodiscard]] const FileSource& file() const { return file_; }
    [[nodiscard]] const FrameLoader& loader() const { return loader_; }
    [[nodiscard]] const FrameCache& cache() const { return cache_; }

  private:
    FileSource file_;
    FrameLoader loader_;
    FrameIndex index_;
    FrameCache cache_;
};

}  // namespace beamdump
