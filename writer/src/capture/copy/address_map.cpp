#include "capture/copy/address_map.h"

#include <algorithm>

namespace beamdump::capture {

std::size_t AddressMap::slot_of(memory::Address address) const {
    // Blocks are aligned: their low bits are equal. 2^64 divided by the golden ratio spreads them.
    const std::uint64_t spread = (address >> 3U) * 0x9e3779b97f4a7c15U;
    const std::size_t mask = entries_.size() - 1;
    std::size_t at = (spread >> 32U) & mask;
    while (entries_[at].first != 0 && entries_[at].first != address) {
        at = (at + 1) & mask;
    }
    return at;
}

bool AddressMap::insert(memory::Address address) {
    auto& slot = entries_[slot_of(address)];
    if (slot.first == address) {
        return false;
    }
    slot = {address, 0};
    ++size_;
    return true;
}

void AddressMap::set(memory::Address address, std::uint64_t value) {
    auto& slot = entries_[slot_of(address)];
    if (slot.first == address) {
        slot.second = value;
    }
}

std::uint64_t AddressMap::get(memory::Address address) const {
    const auto& slot = entries_[slot_of(address)];
    return slot.first == address ? slot.second : 0;
}

std::span<const AddressMap::Entry> AddressMap::sort() {
    const auto end = std::partition(entries_.begin(), entries_.end(),
                                    [](const Entry& entry) { return entry.second != 0; });
    std::sort(entries_.begin(), end);
    return {entries_.begin(), end};
}

void AddressMap::clear() {
    std::ranges::fill(entries_, Entry{});
    size_ = 0;
}

}  // namespace beamdump::capture
