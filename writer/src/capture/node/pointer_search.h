#pragma once

#include <libvm/memory/memory_source.h>
#include <libvm/memory/present_pages.h>
#include <libvm/target/image/mappings.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace beamdump::capture {

/// Searches a node's memory for addresses in blocks of its allocators: what has none may be lost. A
/// word that happens to be such an address, or was left behind by code that is done with the block,
/// counts too. Memory: 24 bytes for each block.
class PointerSearch {
  public:
    static constexpr std::size_t kMostBlocks = 4'000'000;

    /// kLimit: there are more.
    Result<void> add(memory::Address block, std::uint64_t bytes);

    /// After all blocks were added. Looks at each aligned word of writable mappings, but for
    /// `left_out`, which ascend, and for words in the block itself. `go_on` is asked for each MiB;
    /// its error ends the search. What is not in memory is counted. kTargetDied.
    Result<void> search(memory::MemorySource& memory, const target::Mappings& mappings,
                        std::span<const memory::AddressRange> left_out,
                        const std::function<Result<void>()>& go_on);

    /// Words that are addresses in that block. Nothing: it was not added.
    [[nodiscard]] std::optional<std::uint64_t> pointers(memory::Address block) const;
    [[nodiscard]] std::uint64_t searched_bytes() const { return searched_; }
    [[nodiscard]] std::uint64_t unreadable_bytes() const { return unreadable_; }

  private:
    struct Block {
        memory::Address address = 0;
        std::uint64_t bytes = 0;
        std::uint64_t pointers = 0;
    };
    Result<void> search_range(memory::MemorySource& memory, memory::AddressRange range,
                              const std::function<Result<void>()>& go_on);
    void look_at(memory::Address from, std::span<const std::byte> bytes);

    std::vector<Block> blocks_;  ///< ascending once searched for
    std::vector<std::byte> piece_;
    std::uint64_t searched_ = 0, unreadable_ = 0;
};

}  // namespace beamdump::capture
