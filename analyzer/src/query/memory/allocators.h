#pragma once

#include "query/memory/node_memory.h"
#include "query/node/dump_facts.h"

#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// Free blocks of from_bytes and more, and of less than twice as much.
struct FreeBlockClass {
    std::uint64_t from_bytes = 0;
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
};

/// Free blocks in carriers of several blocks, and of how many of these carriers they are.
struct FreeBlockSums {
    std::uint64_t carriers = 0;  ///< of several blocks, all
    std::uint64_t carrier_bytes = 0;
    std::uint64_t read_carriers = 0;  ///< whose free blocks these are
    std::uint64_t read_carrier_bytes = 0;
    std::uint64_t changed_carriers = 0;     ///< left out: they changed while they were read
    std::uint64_t unreadable_carriers = 0;  ///< left out: parts were not in memory
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    std::optional<std::uint64_t> largest_bytes;  ///< nothing: there are none
    std::vector<FreeBlockClass> sizes;           ///< ascending; those of which there are any
};

/// The share of `whole` that is used, in tenths of a percent; nothing of nothing.
std::optional<std::uint64_t> utilisation(std::uint64_t used, std::uint64_t whole);

/// A carrier, in bytes; block headers are part of blocks.
struct CarrierLine {
    std::string allocator;
    std::uint32_t instance = 0;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    bool single_block = false;
    bool pooled = false;
    bool mseg = false;
    std::uint64_t blocks = 0;
    std::uint64_t block_bytes = 0;
    std::optional<std::uint64_t> free_blocks;  ///< nothing: not looked at
    std::optional<std::uint64_t> largest_free_bytes;

    [[nodiscard]] std::uint64_t free_bytes() const {
        return bytes > block_bytes ? bytes - block_bytes : 0;
    }
};

struct CarrierListing {
    std::vector<CarrierLine> lines;
    std::uint64_t matching = 0;
};

enum class AllocatorSort : std::uint8_t { kBytes, kBlocks, kFree, kName };

/// bytes, blocks, free or name. kUsage.
Result<AllocatorSort> parse_allocator_sort(std::string_view name);

struct AllocatorsQuery {
    AllocatorSort sort = AllocatorSort::kBytes;
    bool instances = false;   ///< each by itself, not the sums of each allocator
    bool carriers = false;    ///< also each carrier; `sort` and `limit` are for these then
    std::string name;         ///< only allocators whose name contains this
    std::uint64_t limit = 0;  ///< 0: all
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
    DumpFacts dump;
    std::vector<AllocatorLine> lines;
    AllocatorLine total;                       ///< of the lines
    std::uint64_t matching = 0;                ///< of AllocatorsQuery::name; `total` is of these
    std::optional<FreeBlockSums> free_blocks;  ///< of the allocators that match
    std::optional<CarrierListing> carriers;    ///< where they were asked for
    std::vector<FixedSizeLine> fixed_sizes;    ///< those that hold anything, largest first
    std::optional<std::uint64_t> cached_segments;  ///< of mseg_alloc
    std::optional<std::uint64_t> cached_bytes;
    std::optional<std::uint64_t> cached_resident_bytes;
    std::optional<std::uint64_t> os_bytes;  ///< of the default memory mapper
    std::optional<std::uint64_t> super_carrier_bytes;
    std::optional<std::uint64_t> super_carrier_used_bytes;
};

/// Sums of the counters; one line an allocator or an instance.
std::vector<AllocatorLine> allocator_lines(const NodeMemory& memory, bool instances);

/// kNotFound where the dump has no allocators, or no carriers if these were asked for.
Result<Allocators> allocators(Dump& dump, const std::string& file, const AllocatorsQuery& query);

}  // namespace beamdump::query
