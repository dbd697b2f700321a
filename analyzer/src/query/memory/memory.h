#pragma once

#include "query/memory/allocators.h"
#include "query/memory/blocks.h"
#include "query/process/process_line.h"
#include "query/processes/process_groups.h"
#include "query/tables/ets_tables.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::query {

/// Reference-counted binaries of similar sizes.
struct BinarySizeClass {
    std::uint64_t from_bytes = 0;
    std::optional<std::uint64_t> below_bytes;  ///< nothing: any size
    std::uint64_t binaries = 0;
    std::uint64_t bytes = 0;  ///< their sum
};

/// A part of the resident memory, and who holds it.
struct ResidentPart {
    std::string name;  ///< "heaps", "allocator_overhead", "jit_code"...
    std::uint64_t bytes = 0;
    std::optional<std::uint64_t> blocks;  ///< of an allocator: how many
};

/// A memory cgroup of the node; absent: the kernel does not tell, or there is no limit.
struct CgroupLine {
    std::string name;
    std::optional<std::uint64_t> used_bytes;
    /// Without the page cache that the kernel takes back first: what Kubernetes calls working set.
    std::optional<std::uint64_t> working_set_bytes;
    std::optional<std::uint64_t> limit_bytes;
    std::optional<std::uint64_t> high_bytes;
    std::optional<std::uint64_t> swap_bytes;
    std::optional<std::uint64_t> oom_kills;
    std::optional<std::uint64_t> limit_reached;
};

/// From the node's own up.
std::vector<CgroupLine> cgroup_lines(const records::SystemMemory& system);

/// ETS tables with most memory, of all.
struct LargestTables {
    std::vector<EtsTableLine> tables;
    std::uint64_t total = 0;
};

/// Where the node's memory is: by the VM's categories, and by who holds what is resident.
struct Memory {
    DumpFacts dump;
    /// erlang:memory/0's, in its order; those that the dump can tell.
    std::vector<std::pair<std::string, std::uint64_t>> categories;
    std::optional<std::uint64_t> resident_bytes;  ///< of the operating-system process
    std::optional<std::uint64_t> swapped_bytes;
    /// The part of resident_bytes that was given back, and is still there as nobody has needed it.
    std::optional<std::uint64_t> lazy_free_bytes;
    std::vector<CgroupLine> cgroups;
    /// Parts of resident_bytes, largest first, whose sum it is.
    std::vector<ResidentPart> resident;
    /// The part of resident_bytes that is anonymous memory which nothing that is known of holds.
    std::optional<std::uint64_t> unexplained_bytes;
    /// Whether the node stood still while this was read. Else what it allocated and freed between
    /// the readings of carriers and of resident pages is unexplained, or counts with something
    /// else.
    std::optional<bool> of_one_moment;
    /// Carriers less their blocks, in memory or not.
    std::optional<std::uint64_t> allocator_free_bytes;
    std::optional<std::uint64_t> cached_segment_bytes;
    std::optional<std::uint64_t> binary_bytes;  ///< reference-counted, full sizes
    std::optional<std::uint64_t> binary_count;
    std::optional<std::uint64_t> code_bytes;
    std::optional<std::uint64_t> module_instances;
    std::optional<std::uint64_t> atom_count;
    std::vector<ProcessLine> largest;                          ///< processes by memory
    ProcessGroups kinds;                                       ///< processes by initial call
    std::optional<LargestTables> tables;                       ///< nothing: the dump has none
    std::optional<std::vector<BinarySizeClass>> binary_sizes;  ///< where they were asked for
    std::optional<Blocks> blocks;                              ///< where they were asked for
};

struct MemoryOptions {
    /// The most of the largest processes (0: as many as the dump lists), kinds of processes, tables
    /// and groups of blocks.
    std::uint64_t limit = 10;
    bool binaries = false;  ///< also binaries by size, which reads the records of all
    bool blocks = false;    ///< also blocks_in_use()
    const ReferenceNumbers* found = nullptr;  ///< for these; non-owning
    InputLimits limits = {};
};

/// The parts of the resident memory, largest first; none where it is not told what is resident.
std::vector<ResidentPart> resident_parts(const NodeMemory& node);

Result<Memory> memory(Dump& dump, const std::string& file, const MemoryOptions& options);

}  // namespace beamdump::query
