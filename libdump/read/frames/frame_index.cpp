#include <libdump/read/frames/frame_index.h>

#include <algorithm>

namespace beamdump {

std::size_t FrameIndex::first_after(std::uint64_t flat_offset) const {
    const auto after = std::ranges::upper_bound(frames_, flat_offset, {}, &FrameRef::flat_offset);
    return static_cast<std::size_t>(after - frames_.begin());
}

std::optional<std::size_t> FrameIndex::find(std::uint64_t flat_offset) const {
    const std::size_t after = first_after(flat_offset);
    if (after == 0 || flat_offset >= frames_[after - 1].flat_end()) {
        return std::nullopt;
    }
    return after - 1;
}

}  // namespace beamdump
