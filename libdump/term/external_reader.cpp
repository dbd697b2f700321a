#include <libdump/term/external_reader.h>

#include <algorithm>
#include <cstring>

namespace beamdump {

void ExternalReader::open(ExternalSource& source) {
    source_ = &source;
    size_ = source.size();
    for (Block& block : blocks_) {
        block.begin = block.end = 0;
    }
}

ExternalStatus ExternalReader::byte_miss(std::uint64_t at, std::uint8_t& value) {
    if (at >= size_) {
        return ExternalStatus::kMalformed;
    }
    Block& block = blocks_[(at / kBlockBytes) % kBlocks];
    const std::uint64_t aligned = at / kBlockBytes * kBlockBytes;
    const std::uint64_t end = std::min(aligned + kBlockBytes, size_);
    // After a gap in the captured bytes, a block begins at the next byte.
    for (const auto begin : {aligned, at}) {
        block.begin = begin;
        block.end = begin + source_->read(begin, std::span(block.bytes).first(end - begin));
        if (at < block.end) {
            value = block.bytes[at - begin];
            return ExternalStatus::kHere;
        }
    }
    return ExternalStatus::kAbsent;
}

ExternalStatus ExternalReader::number(std::uint64_t at, unsigned bytes, std::uint64_t& value) {
    value = 0;
    for (unsigned i = 0; i < bytes; ++i) {
        std::uint8_t byte_value = 0;
        const auto status = byte(at + i, byte_value);
        if (status != ExternalStatus::kHere) {
            return status;
        }
        value = value << 8U | byte_value;
    }
    return ExternalStatus::kHere;
}

std::size_t ExternalReader::copy(std::uint64_t at, std::span<std::uint8_t> into) {
    std::size_t have = 0;
    while (have < into.size() && byte(at + have, into[have]) == ExternalStatus::kHere) {
        const auto from = at + have;
        const Block& block = blocks_[(from / kBlockBytes) % kBlocks];
        const auto step = std::min<std::size_t>(block.end - from, into.size() - have);
        std::memcpy(into.data() + have, block.bytes.data() + (from - block.begin), step);
        have += step;
    }
    return have;
}

}  // namespace beamdump
