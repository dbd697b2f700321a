#include "frame_store.h"

#include <fmt/format.h>

namespace beamdump {

namespace {

/// Why no frame holds a flat offset.
Error no_frame(const FrameIndex& index, const std::string& name, std::uint64_t flat_offset) {
    if (flat_offset >= index.flat_bytes()) {
        return {ErrorCode::kCorrupt,
                fmt::format("flat offset {} is behind the end of {} ({} bytes of stream)",
                            flat_offset, name, index.flat_bytes())};
    }
    const std::size_t after = index.first_after(flat_offset);
    const FrameRef& next = index.frames()[after];
    const std::uint64_t begin = after == 0 ? 0 : index.frames()[after - 1].file_end();
    return {ErrorCode::kCorrupt,
            fmt::format("flat offset {} was in a frame of {} that is damaged or lost, before frame "
                        "{} (bytes {} to {} of the file)",
                        flat_offset, name, next.sequence, begin, next.file_offset)};
}

}  // namespace

Result<std::shared_ptr<const Frame>> FrameStore::at(std::uint64_t flat_offset) {
    const auto position = index_.find(flat_offset);
    if (!position) {
        return std::unexpected(no_frame(index_, file_.name(), flat_offset));
    }
    return by_position(*position);
}

Result<std::shared_ptr<const Frame>> FrameStore::by_position(std::size_t position) {
    if (auto held = cache_.find(position)) {
        return held;
    }
    auto loaded = loader_.load(file_, index_.frames()[position]);
    if (loaded) {
        cache_.insert(position, *loaded);
    }
    return loaded;
}

}  // namespace beamdump
