#pragma once

#include <libdump/format/format.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace beamdump {

/// The buffer of a frame: its records, then their compressed form. Reused.
struct FrameBuffer {
    std::vector<std::byte> content;  ///< frame_bytes long; the first `used` bytes count
    std::size_t used = 0;
    std::uint64_t sequence = 0;
    std::uint64_t flat_offset = 0;
    std::vector<std::byte> compressed;  ///< large enough for the worst case
    std::size_t compressed_bytes = 0;
};

}  // namespace beamdump
