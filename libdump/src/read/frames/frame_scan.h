#pragma once

#include "read/file/file_source.h"
#include "read/frames/frame.h"
#include "read/frames/frame_index.h"
#include "read/frames/frame_loader.h"

#include <libdump/base/error.h>
#include <libdump/format/format.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace beamdump {

/// Bytes of the file that belong to no whole frame.
struct LostRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

struct ScannedFrames {
    FrameIndex frames;
    std::optional<format::Tail> tail;
    std::vector<LostRange> lost;
    bool gave_up = false;  ///< searching behind damage became too costly
};

/// Finds a dump's frames without a seek table: one after the other from the header on, each
/// verified. Behind damage it goes on at the next place where a zstd frame with a valid FrameStart
/// of this dump starts, with a higher sequence and offset. `found` sees every frame once, in order.
Result<ScannedFrames> scan_frames(
    FileSource& file, FrameLoader& loader, const format::FileHeader& header,
    const std::function<void(const std::shared_ptr<const Frame>&)>& found);

}  // namespace beamdump
