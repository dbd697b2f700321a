#pragma once

#include <libvm/memory/memory_source.h>
#include <libvm/memory/present_pages.h>

#include <list>
#include <unordered_map>
#include <vector>

namespace beamdump::memory {

/// A cache for following pointers: reads one page at first, and the present pages of the aligned
/// block around it when another of them is needed; keeps the most recently used blocks. Data is as
/// old as its block: call invalidate() before reading memory that may have changed.
class BlockCache final : public MemorySource {
  public:
    /// Non-owning: `source` and `pages` must outlive the cache. `pages` may be null (all present).
    BlockCache(MemorySource& source, PresentPages* pages, std::size_t block_bytes = 64U << 10U,
               std::size_t blocks = 64);

    Result<std::size_t> read_some(Address address, std::span<std::byte> into) override;
    [[nodiscard]] MemoryStats stats() const override { return source_.stats(); }
    void invalidate();

  private:
    struct Block {
        Address start = 0;
        std::vector<std::byte> bytes;
        std::vector<bool> page_here;
    };
    Result<Block*> block_at(Address start, Address wanted);
    Result<std::vector<AddressRange>> others_of(const Block& block, AddressRange wanted);
    Result<void> fill(Block& block, Address address);

    MemorySource& source_;
    PresentPages* pages_;
    std::size_t block_bytes_;
    std::size_t capacity_;
    std::list<Block> blocks_;  // latest used first
    std::unordered_map<Address, std::list<Block>::iterator> index_;
};

}  // namespace beamdump::memory
