#pragma once

#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace beamdump::query {

/// Blocks of one allocator that have the same kind, tag and size class.
struct BlockGroup {
    /// binary, driver_binary, magic (NIF resources, and what the runtime refers to by magic
    /// references) or block.
    std::string kind;
    std::optional<std::string> asked_by;  ///< by the tag: a driver, a module of a NIF, or system
    std::uint64_t from_bytes = 0;         ///< each has so many or more, and less than twice as many
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
    /// Of binary_alloc: terms refer to them, but other references than those that were found are
    /// counted too.
    bool referred_to = false;
    bool queued = false;  ///< of binary_alloc: a port's queue refers to them, and no term
    std::optional<std::uint64_t> least_references, most_references;  ///< of Binaries
    /// References that were found to them, of those that are counted; absent: not known of all.
    std::optional<std::uint64_t> least_found, most_found;
    /// Of them, such that no word of the memory that was searched is an address in.
    std::optional<std::uint64_t> lost_blocks, lost_bytes;
    /// What most of those whose first bytes are told begin with, of at most kMostBeginnings that
    /// are told apart, and how many do.
    std::string first_bytes;
    std::uint64_t begin_so = 0;
    std::uint64_t example = 0;                 ///< address of the first one
    std::optional<std::string> example_owner;  ///< who ran when it was asked for: pid or port
};

/// Blocks in use of an allocator.
struct AllocatorBlocks {
    std::string allocator;
    std::uint64_t carriers = 0;
    std::uint64_t read_carriers = 0;                              ///< whose blocks these are
    std::uint64_t changed_carriers = 0, unreadable_carriers = 0;  ///< left out
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;                                     ///< headers and tags included
    std::optional<std::uint64_t> counted_blocks, counted_bytes;  ///< by the allocator's counters
    /// Of binary_alloc: those of binaries that the dump's terms refer to.
    std::optional<std::uint64_t> reached_blocks, reached_bytes;
    /// Of the others, those that queues of ports refer to, as far as the dump lists them; absent
    /// where it does not.
    std::optional<std::uint64_t> queued_blocks, queued_bytes;
    /// Of these, such whose reference count is not the number of references that were found; absent
    /// where not all references can be found.
    std::optional<std::uint64_t> differing_blocks, differing_bytes;
    /// Of those that no term refers to, such that no word of the memory that was searched is an
    /// address in; absent: none was searched for, or the node ran meanwhile.
    std::optional<std::uint64_t> lost_blocks, lost_bytes;
    std::uint64_t searched_bytes = 0, unsearched_bytes = 0;  ///< the latter were not in memory
    bool moving = false;                                     ///< the node ran while they were read
    /// Of those that no term refers to, and of those that differ, those with most bytes first.
    std::vector<BlockGroup> groups;
    std::uint64_t group_count = 0;
};

/// References to binaries that were found in the dump, by the address of the structure.
using ReferenceNumbers = std::unordered_map<std::uint64_t, std::uint64_t>;

struct Blocks {
    std::vector<AllocatorBlocks> allocators;
    /// Processes whose memory is not in the dump: what they alone refer to is not reached.
    std::uint64_t processes_left_out = 0;
};

/// Whether the dump has blocks, and the node stood still while they were read.
Result<bool> has_blocks_of_one_moment(Dump& dump);

/// The blocks that the capture was asked for (--blocks), with at most `limit` groups of each
/// allocator (0: all). kNotFound: it was not asked for any. Reads all of them. Memory: of each
/// group its kMostBeginnings. `found`: all references that terms have; null: not known.
Result<Blocks> blocks_in_use(Dump& dump, std::uint64_t limit, const ReferenceNumbers* found);

}  // namespace beamdump::query
