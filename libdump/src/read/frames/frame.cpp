#include "read/frames/frame.h"

#include <libdump/base/bytes.h>

namespace beamdump {

namespace {

constexpr std::uint64_t record_bytes(const format::RecordHeader& header) {
    return (sizeof(header) + std::uint64_t{header.payload_bytes} + 7U) / 8U * 8U;
}

}  // namespace

std::optional<Frame> Frame::create(const FrameRef& where, std::vector<std::byte> bytes) {
    std::vector<bool> starts(bytes.size() / 8);
    std::uint64_t position = 0;
    while (position < bytes.size()) {
        const auto header = load<format::RecordHeader>(bytes, position);
        if (!header || record_bytes(*header) > bytes.size() - position) {
            return std::nullopt;
        }
        starts[position / 8] = true;
        position += record_bytes(*header);
    }
    return Frame(where, std::move(bytes), std::move(starts));
}

bool Frame::record_starts(std::uint64_t position) const {
    return position % 8 == 0 && position / 8 < starts_.size() && starts_[position / 8];
}

format::RecordHeader Frame::header_at(std::uint64_t position) const {
    return load_known<format::RecordHeader>(bytes_, position);
}

std::span<const std::byte> Frame::payload_at(std::uint64_t position) const {
    return std::span(bytes_).subspan(position + sizeof(format::RecordHeader),
                                     header_at(position).payload_bytes);
}

std::uint64_t Frame::after(std::uint64_t position) const {
    return position + record_bytes(header_at(position));
}

}  // namespace beamdump
