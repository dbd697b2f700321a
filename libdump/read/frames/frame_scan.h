#pragma once

#include <libdump/base/error.h>
#include <libdump/format/format.h>
#include <libdump/read/file/file_source.h>
#include <libdump/read/frames/frame.h>
#include <libdump/read/frames/frame_index.h>
#include <libdump/read/frames/frame_loader.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace beamdump {

/// Bytes of the file outside complete frames.
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

/// Finds a dump's frames without a seek table, from the header on, and verifies each. After damage
/// it continues at the next zstd frame with a valid FrameStart of this dump and a higher sequence
/// and offset. `found` is called with every frame once, in order.
Result<ScannedFrames> scan_frames(
    FileSource& file, FrameLoader& loader, const format::FileHeader& header,
    const std::function<void(const std::shared_ptr<const Frame>&)>& found);

}  // namespace beamdump
