#include <libdump/base/bytes.h>
#include <libdump/read/frames/frame.h>

namespace beamdump {

std::optional<Frame> Frame::create(const FrameRef& where, std::vector<std::byte> bytes) {
    std::vector<bool> starts(bytes.size() / 8);
    std::uint64_t position = 0;
    while (position < bytes.size()) {
        const auto header = load<format::RecordHeader>(bytes, position);
        if (!header || format::record_bytes(header->payload_bytes) > bytes.size() - position) {
            return std::nullopt;
        }
        starts[position / 8] = true;
        position += format::record_bytes(header->payload_bytes);
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
    return position + format::record_bytes(header_at(position).payload_bytes);
}

}  // namespace beamdump
