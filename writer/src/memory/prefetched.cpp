#include "memory/prefetched.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>
#include <cstring>

namespace beamdump::memory {

Result<void> Prefetched::read(MemorySource& source, std::span<const AddressRange> parts) {
    parts_.clear();
    std::size_t total = 0;
    for (const auto& part : parts) {
        total += part.bytes();
    }
    if (bytes_.size() < total) {
        bytes_.resize(total);
    }
    std::vector<BatchRead> reads;
    reads.reserve(parts.size());
    std::size_t offset = 0;
    for (const auto& part : parts) {
        reads.push_back({part.begin, std::span(bytes_).subspan(offset, part.bytes()), false});
        offset += part.bytes();
    }
    RETURN_IF_ERROR(source.read_batch(reads));
    for (const auto& one : reads) {
        if (one.done && !one.into.empty()) {
            parts_.push_back({{one.address, one.address + one.into.size()},
                              static_cast<std::size_t>(one.into.data() - bytes_.data())});
        }
    }
    return {};
}

std::span<const std::byte> Prefetched::at(Address address) const {
    const auto part = std::ranges::find_if(
        parts_, [&](const Part& candidate) { return candidate.range.contains(address); });
    if (part == parts_.end()) {
        return {};
    }
    return std::span(bytes_).subspan(part->offset + (address - part->range.begin),
                                     part->range.end - address);
}

Result<std::size_t> PrefetchedMemory::read_some(Address address, std::span<std::byte> into) {
    const auto held = held_.at(address);
    if (held.empty()) {
        return source_.read_some(address, into);
    }
    const auto count = std::min(held.size(), into.size());
    std::memcpy(into.data(), held.data(), count);
    return count;
}

}  // namespace beamdump::memory
