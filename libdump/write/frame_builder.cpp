#include <libdump/base/bytes.h>
#include <libdump/write/frame_builder.h>

#include <algorithm>
#include <utility>

namespace beamdump {

void FrameBuilder::begin(FrameBuffer& buffer, std::uint64_t sequence, std::uint64_t flat_offset) {
    buffer_ = &buffer;
    buffer.used = format::kFrameStartBytes;
    buffer.sequence = sequence;
    buffer.flat_offset = flat_offset;
    buffer.compressed_bytes = 0;
}

bool FrameBuilder::fits(std::uint64_t payload_bytes) const {
    const std::uint64_t room = buffer_->content.size() - buffer_->used;
    return payload_bytes <= room && format::record_bytes(payload_bytes) <= room;
}

std::uint64_t FrameBuilder::next_offset() const {
    return buffer_->flat_offset + buffer_->used;
}

std::span<std::byte> FrameBuilder::open(std::size_t payload_bytes) {
    return std::span(buffer_->content)
        .subspan(buffer_->used + sizeof(format::RecordHeader), payload_bytes);
}

void FrameBuilder::close(format::RecordKind kind, std::size_t payload_bytes) {
    const std::span content(buffer_->content);
    const format::RecordHeader header{.kind = static_cast<std::uint16_t>(kind),
                                      .flags = 0,
                                      .payload_bytes = static_cast<std::uint32_t>(payload_bytes)};
    store(content, buffer_->used, header);
    const std::size_t end = buffer_->used + sizeof(header) + payload_bytes;
    buffer_->used += format::record_bytes(payload_bytes);
    std::ranges::fill(content.subspan(end, buffer_->used - end), std::byte{0});
}

FrameBuffer* FrameBuilder::release() {
    return std::exchange(buffer_, nullptr);
}

}  // namespace beamdump
