#pragma once

#include "query/facts/dump_facts.h"
#include "query/memory/carriers.h"
#include "query/memory/node_memory.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

struct AllocatorsQuery {
    bool instances = false;  ///< each by itself, not the sums of each allocator
    bool carriers = false;   ///< also each carrier: then `rows` asks for these
    RowQuery rows;
};

/// An allocator, or one instance of it. Bytes; block headers are part of blocks.
struct AllocatorLine {
    std::string name;
    std::optional<std::uint32_t> instance;   ///< of one instance
    std::optional<std::uint64_t> instances;  ///< of a sum: how many it has
    std::uint64_t carriers = 0;
    std::uint64_t carrier_bytes = 0;
    std::uint64_t single_block_carriers = 0;  ///< of these
    std::uint64_t single_block_bytes = 0;
    std::uint64_t pooled_carriers = 0;  ///< of these: abandoned
    std::uint64_t pooled_bytes = 0;
    std::optional<std::uint64_t> mseg_bytes;  ///< of these by mseg_alloc; absent: some are pooled
    std::uint64_t blocks = 0;
    std::uint64_t block_bytes = 0;
    std::optional<std::uint64_t> resident_bytes;  ///< of a sum, where the dump says it
    /// Of the blocks in use those that other threads have given back.
    std::optional<std::uint64_t> delayed_blocks, delayed_bytes;

    [[nodiscard]] std::uint64_t free_bytes() const {
        return carrier_bytes > block_bytes ? carrier_bytes - block_bytes : 0;
    }
    /// Blocks' share of the carriers, in tenths of a percent; nothing without carriers.
    [[nodiscard]] std::optional<std::uint64_t> utilisation() const;
};

/// A type of fix_alloc, in bytes.
struct FixedSizeLine {
    std::string name;
    std::uint64_t allocated_bytes = 0;
    std::uint64_t used_bytes = 0;
};

struct Allocators {
    RowList lines;
    Row total;                                          ///< of those that pass, in the same columns
    std::optional<FreeBlockSums> free_blocks;           ///< of the allocators that match
    std::optional<RowList> carriers;                    ///< where they were asked for
    std::vector<FixedSizeLine> fixed_sizes;             ///< those that hold anything, largest first
    std::optional<std::uint64_t> cached_segments = {};  ///< of mseg_alloc
    std::optional<std::uint64_t> cached_bytes = {};
    std::optional<std::uint64_t> cached_resident_bytes = {};
    std::optional<std::uint64_t> os_bytes = {};  ///< of the default memory mapper
    std::optional<std::uint64_t> super_carrier_bytes = {};
    std::optional<std::uint64_t> super_carrier_used_bytes = {};
};

/// The sums of allocators as rows.
Result<RowList> list_allocators(Dump& dump, const RowQuery& query);

/// Sums of the counters; one line an allocator or an instance.
std::vector<AllocatorLine> allocator_lines(const NodeMemory& memory, bool instances);

/// The columns of Allocators::lines, and what they are sorted by unless it is told.
std::span<const Column> allocator_columns();
inline constexpr std::string_view kAllocatorSort = "carrier_bytes";
inline constexpr std::string_view kShownAllocatorColumns =
    "allocator,carriers,carrier_bytes,resident_bytes,blocks,block_bytes,utilisation,pooled_bytes";

/// kNotFound where the dump has no allocators, or no carriers if these were asked for.
Result<Allocators> allocators(Dump& dump, const AllocatorsQuery& query);

}  // namespace beamdump::query
