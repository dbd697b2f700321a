#pragma once

#include <libdump/base/error.h>

#include <cstdint>

namespace beamdump {

struct ReadStats {
    std::uint64_t frames_decompressed = 0;
    std::uint64_t file_bytes_read = 0;
};

/// Frames that were needed and cannot be read: answers lack their contents.
struct UnreadableFrames {
    std::uint64_t frames = 0;
    Error first;  ///< why the first of them cannot be read
};

}  // namespace beamdump
