#pragma once

#include <cstdint>
#include <vector>

namespace beamdump::format {

/// A zstd frame, as the seek table has it.
struct WrittenFrame {
    std::uint32_t compressed_bytes = 0;
    std::uint32_t content_bytes = 0;
    std::uint32_t checksum = 0;  ///< low 32 bits of the content's XXH64
};

/// The frames of a dump without its end, to which further ones may be appended.
struct WrittenFrames {
    std::uint64_t dump_id = 0;
    std::uint32_t frame_bytes = 0;  ///< FileHeader::frame_bytes
    std::uint32_t header_bytes = 0;
    std::uint64_t file_bytes = 0;  ///< of header and frames
    std::uint64_t flat_bytes = 0;
    std::vector<WrittenFrame> frames = {};
};

}  // namespace beamdump::format
