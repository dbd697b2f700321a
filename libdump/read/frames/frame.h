#pragma once

#include <libdump/format/format.h>
#include <libdump/read/frames/frame_index.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace beamdump {

/// A verified, decompressed frame: its bytes, and the starts of records.
class Frame {
  public:
    /// nullopt if the records do not fill the bytes exactly.
    static std::optional<Frame> create(const FrameRef& where, std::vector<std::byte> bytes);

    [[nodiscard]] const FrameRef& where() const { return where_; }
    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
    /// Its memory in bytes.
    [[nodiscard]] std::size_t memory_bytes() const { return bytes_.size() + starts_.size() / 8; }

    /// Whether a record starts at a position in the frame.
    [[nodiscard]] bool record_starts(std::uint64_t position) const;
    [[nodiscard]] format::RecordHeader header_at(std::uint64_t position) const;
    [[nodiscard]] std::span<const std::byte> payload_at(std::uint64_t position) const;
    /// Position of the record after the one at `position`; bytes().size() at the end.
    [[nodiscard]] std::uint64_t after(std::uint64_t position) const;

  private:
    Frame(const FrameRef& where, std::vector<std::byte> bytes, std::vector<bool> starts)
        : where_(where), bytes_(std::move(bytes)), starts_(std::move(starts)) {}

    FrameRef where_;
    std::vector<std::byte> bytes_;
    std::vector<bool> starts_;  // by position / 8
};

}  // namespace beamdump
