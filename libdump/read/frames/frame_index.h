#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace beamdump {

/// The place of a zstd frame in the file and in the decompressed stream.
struct FrameRef {
    std::uint64_t file_offset = 0;
    std::uint64_t flat_offset = 0;
    std::uint32_t compressed_bytes = 0;
    std::uint32_t content_bytes = 0;  ///< decompressed
    std::uint32_t sequence = 0;
    std::uint32_t checksum = 0;  ///< low 32 bits of the content's XXH64

    [[nodiscard]] std::uint64_t flat_end() const { return flat_offset + content_bytes; }
    [[nodiscard]] std::uint64_t file_end() const { return file_offset + compressed_bytes; }
};

/// A dump's frames, ascending by flat offset, with gaps for damaged frames.
class FrameIndex {
  public:
    void add(const FrameRef& frame) { frames_.push_back(frame); }

    [[nodiscard]] const std::vector<FrameRef>& frames() const { return frames_; }
    [[nodiscard]] std::uint64_t flat_bytes() const {
        return frames_.empty() ? 0 : frames_.back().flat_end();
    }
    /// Position of the frame with a flat offset.
    [[nodiscard]] std::optional<std::size_t> find(std::uint64_t flat_offset) const;
    /// Position of the first frame that starts after a flat offset; frames().size() for none.
    [[nodiscard]] std::size_t first_after(std::uint64_t flat_offset) const;

  private:
    std::vector<FrameRef> frames_;
};

}  // namespace beamdump
