#pragma once

#include <libvm/memory/memory_source.h>

#include <cstdint>
#include <iterator>
#include <map>

namespace beamdump::capture {

/// Ranges of addresses of which no two overlap. Each takes about 50 bytes.
class DisjointRanges {
  public:
    /// False: it overlaps one that is here, and is not added. A range of no bytes overlaps nothing.
    bool add(memory::Address address, std::uint64_t bytes) {
        const auto next = ends_.upper_bound(address);
        const bool free =
            bytes == 0 || ((next == ends_.end() || next->first - address >= bytes) &&
                           (next == ends_.begin() || std::prev(next)->second <= address));
        if (free && bytes != 0) {
            ends_.emplace_hint(next, address, address + bytes);
        }
        return free;
    }
    void clear() { ends_.clear(); }

  private:
    std::map<memory::Address, memory::Address> ends_;  // by their beginnings
};

}  // namespace beamdump::capture
