#pragma once

#include <libdump/base/page_size.h>
#include <libvm/memory/memory_source.h>

#include <vector>

namespace beamdump::memory {

/// A half-open range of addresses.
struct AddressRange {
    Address begin = 0;
    Address end = 0;
    [[nodiscard]] std::uint64_t bytes() const { return end - begin; }
    [[nodiscard]] bool contains(Address address) const { return begin <= address && address < end; }
};

/// Finds the resident pages, so that reading neither fills page tables nor swaps pages in.
class PresentPages {
  public:
    PresentPages() = default;
    PresentPages(const PresentPages&) = delete;
    PresentPages& operator=(const PresentPages&) = delete;
    virtual ~PresentPages() = default;

    /// The parts of `range` in present pages, ascending and merged.
    virtual Result<std::vector<AddressRange>> present(AddressRange range) = 0;
};

}  // namespace beamdump::memory
