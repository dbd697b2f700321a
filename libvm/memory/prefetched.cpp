#include <libdump/base/return_if_error.h>
#include <libvm/memory/prefetched.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace beamdump::memory {
namespace {

/// What repeat() reads: the counters of a node of 1,024 schedulers fit, and not a walk over all
/// processes.
constexpr std::size_t kMostNoted = 32768;
constexpr std::uint64_t kMostNotedBytes = std::uint64_t{32} << 20U;

}  // namespace

void Prefetched::drop() {
    for (const auto& part : parts_) {
        if (part.used) {
            note(part.range);
        }
    }
    noting_ = false;
    parts_.clear();
    used_ = 0;
    last_ = 0;
}

Result<void> Prefetched::repeat(MemorySource& source) {
    drop();
    const auto again = std::exchange(noted_, {});
    noted_bytes_ = 0;
    noting_ = true;
    return add(source, again);
}

void Prefetched::note(AddressRange range) {
    if (noting_ && noted_.size() < kMostNoted && noted_bytes_ + range.bytes() <= kMostNotedBytes) {
        noted_.push_back(range);
        noted_bytes_ += range.bytes();
    }
}

Result<void> Prefetched::read(MemorySource& source, std::span<const AddressRange> parts) {
    drop();
    return add(source, parts);
}

Result<void> Prefetched::add(MemorySource& source, std::span<const AddressRange> parts) {
    std::size_t total = used_;
    for (const auto& part : parts) {
        total += part.bytes();
    }
    if (bytes_.size() < total) {
        bytes_.resize(total);
    }
    std::vector<BatchRead> reads;
    reads.reserve(parts.size());
    auto offset = used_;
    used_ = total;
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

void Prefetched::hold(std::span<const HeldPart> parts) {
    drop();
    for (const auto& part : parts) {
        if (part.bytes.empty()) {
            continue;
        }
        const auto end = used_ + part.bytes.size();
        if (bytes_.size() < end) {
            bytes_.resize(end);
        }
        std::ranges::copy(part.bytes, bytes_.begin() + static_cast<std::ptrdiff_t>(used_));
        parts_.push_back({part.range, used_});
        used_ = end;
    }
}

std::span<const std::byte> Prefetched::at(Address address) const {
    for (std::size_t tried = 0; tried < parts_.size(); ++tried) {
        if (last_ >= parts_.size()) {
            last_ = 0;
        }
        const auto& part = parts_[last_];
        if (part.range.contains(address)) {
            part.used = true;
            return std::span(bytes_).subspan(part.offset + (address - part.range.begin),
                                             part.range.end - address);
        }
        ++last_;
    }
    return {};
}

Result<std::size_t> PrefetchedMemory::read_some(Address address, std::span<std::byte> into) {
    const auto held = held_.at(address);
    if (held.empty()) {
        held_.note({address, address + into.size()});
        ++misses_;
        return source_.read_some(address, into);
    }
    const auto count = std::min(held.size(), into.size());
    std::memcpy(into.data(), held.data(), count);
    return count;
}

}  // namespace beamdump::memory
