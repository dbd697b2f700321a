#pragma once

#include <libvm/memory/memory_source.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace beamdump::capture {

/// Addresses with a value each, in a table of fixed size: 16 bytes a slot, never more, whatever is
/// put in. Open addressing; address 0 marks a free slot and cannot be a key.
class AddressMap {
  public:
    using Entry = std::pair<memory::Address, std::uint64_t>;

    /// `slots`: a power of two.
    explicit AddressMap(std::size_t slots) : entries_(slots) {}

    /// Whether it was new; then its value is 0. Not to be called when full().
    bool insert(memory::Address address);
    /// Sets the value of a known address.
    void set(memory::Address address, std::uint64_t value);
    /// The value of an address, 0 where it is not known.
    [[nodiscard]] std::uint64_t get(memory::Address address) const;

    /// Three quarters of the slots are used: take what is in it.
    [[nodiscard]] bool full() const { return size_ * 4 >= entries_.size() * 3; }
    [[nodiscard]] std::size_t size() const { return size_; }

    /// Entries with a value other than 0, ascending by address, in the table's own memory: valid
    /// until clear(), which must follow.
    std::span<const Entry> sort();
    void clear();

    /// Where a known address is among the slots, until sort() or clear(): for what else is kept of
    /// it.
    [[nodiscard]] std::size_t slot_of(memory::Address address) const;

  private:
    std::vector<Entry> entries_;
    std::size_t size_ = 0;
};

}  // namespace beamdump::capture
