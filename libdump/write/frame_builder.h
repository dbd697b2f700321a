#pragma once

#include <libdump/format/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
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

/// Payload bytes of the largest record that fits an otherwise empty frame of `frame_bytes`.
constexpr std::uint64_t largest_payload(std::uint64_t frame_bytes) {
    return frame_bytes - format::kFrameStartBytes - sizeof(format::RecordHeader);
}

/// Writes records into a frame buffer. A record is opened, written in place, and committed when it
/// is closed, so that abandoning one costs nothing. Room is kept for the FrameStart, which the
/// compressor fills in.
class FrameBuilder {
  public:
    FrameBuilder() = default;

    /// Starts an empty frame in `buffer` (non-owning).
    void begin(FrameBuffer& buffer, std::uint64_t sequence, std::uint64_t flat_offset);

    [[nodiscard]] bool active() const { return buffer_ != nullptr; }
    [[nodiscard]] bool empty() const { return buffer_->used == format::kFrameStartBytes; }
    [[nodiscard]] bool fits(std::uint64_t payload_bytes) const;
    /// Flat offset of the next record.
    [[nodiscard]] std::uint64_t next_offset() const;

    /// Opens a record; returns room for a payload that fits(), for the caller to write.
    std::span<std::byte> open(std::size_t payload_bytes);
    /// Closes the open record with `payload_bytes`.
    void close(format::RecordKind kind, std::size_t payload_bytes);

    /// Returns the finished frame.
    FrameBuffer* release();

  private:
    FrameBuffer* buffer_ = nullptr;
};

}  // namespace beamdump
