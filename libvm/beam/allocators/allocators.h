#pragma once

#include <libvm/beam/layout/layout.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/vm/vm.h>

#include <records.pb.h>

#include <vector>

namespace beamdump::beam {

/// ErtsAllocatorInfo_t and ErtsAllocatorThrSpec_t (erl_alloc.h): what allocators there are.
struct AllocatorTableFields {
    explicit AllocatorTableFields(LayoutNames& names);
    Field is_util, enabled, thread_specific, extra;
    Field spec_enabled, spec_size, spec_instances;
    std::uint32_t info_bytes, spec_bytes;
    std::uint64_t last;  ///< the highest allocator number
};

/// Allctr_t, its counters, and ErtsAlcFixList_t (erl_alloc_util.h): one instance.
struct AllocatorFields {
    explicit AllocatorFields(LayoutNames& names);
    Field name_prefix, number, index;
    Field multi_list, single_list, deallocated_list, pool_sentinel, pool_limit;
    Field pool_block_bytes, pool_blocks, pool_carrier_bytes, pool_carriers;
    Field literal_mapper, fix, carrier_header_bytes;
    Field single_carriers, single_blocks, multi_carriers, multi_blocks;
    Field count, size;               ///< of AllctrCount
    Field block_count, block_bytes;  ///< of AllctrBlockStats: now, not at its highest
    Field type_bytes, pool_allocated, pool_used, plain_allocated, plain_used;
    Field delayed_first;  ///< of the blocks that other threads gave back
    std::uint32_t bytes, count_bytes, stats_bytes, fix_bytes;
    std::uint64_t fix_count;
    bool has_queue_buffers;  ///< a type of fix_alloc
};

/// Carrier_t and what a carrier in the pool has (erl_alloc_util.c).
struct CarrierFields {
    explicit CarrierFields(LayoutNames& names);
    Field header, next, owner, pool;
    Field pool_next, blocks, block_bytes, all_block_bytes;  ///< of `pool`
    std::uint32_t bytes;

    /// A field of `pool` as one of the carrier.
    [[nodiscard]] Field in_pool(Field field) const {
        return {pool.offset + field.offset, field.bytes};
    }
};

/// ErtsMsegAllctr_t, its cache's entries (erl_mseg.c), and ErtsMemMapper (erl_mmap.h).
struct SegmentFields {
    explicit SegmentFields(LayoutNames& names);
    Field index, initialised, cache_size, max_cache_size, unpowered, powered;
    Field entry_size, entry_segment, entry_next;
    Field super_carrier, no_os, super_total, super_used, super_used_aligned, super_used_unaligned;
    Field os_used;
    std::uint32_t allocator_bytes, stride, entry_bytes, mapper_bytes;
};

/// No allocator has more instances: one a scheduler (erl_vm.h: 1,024), as many dirty ones, and one.
inline constexpr std::uint32_t kMaxAllocatorInstances = 4096;
/// No amount of memory is larger; what says so is no counter.
inline constexpr std::uint64_t kMaxMemoryBytes = std::uint64_t{1} << 47U;

/// Where an instance of an allocator is (Allctr_t).
struct AllocatorPlace {
    std::uint32_t number = 0;  ///< of its allocator, ERTS_ALC_A_*
    std::uint32_t index = 0;
    bool thread_specific = false;
    Address address = 0;
};

/// One instance: its counters, and where its lists of carriers begin.
struct AllocatorState {
    AllocatorPlace place;
    records::AllocatorInstance record;
    Address multi_list = 0;
    Address single_list = 0;
    Address deallocated_list = 0;
    Address pool_sentinel = 0;  ///< 0: no pool; else shared by all instances of the allocator
    std::uint32_t carrier_header_bytes = 0;  ///< before the first of several blocks
    Address mapper = 0;                      ///< of literal_alloc: erts_literal_mmapper
};

/// Reads the runtime's allocators by erts_allctrs_info (erl_alloc.c). An instance's counters come
/// in one read; while the node runs they are off by an operation at most, as one thread writes
/// them.
class AllocatorReader {
  public:
    /// kAbsent: the table was not found.
    static Result<AllocatorReader> open(Vm& vm);

    /// All instances, by number and index. kImplausible where the tables lie.
    Result<std::vector<AllocatorPlace>> places();
    /// kImplausible where no instance of that allocator is there.
    Result<AllocatorState> state(const AllocatorPlace& place);
    /// Adds the blocks that other threads have given back and that wait for the instance's own: as
    /// many as are met, at most kMostDelayed. The list grows and shrinks while the node runs.
    /// Nothing for an instance that all threads free in.
    Result<void> add_delayed(AllocatorState& state);
    static constexpr std::uint64_t kMostDelayed = 10'000;

  private:
    AllocatorReader(Vm& vm, AllocatorTableFields tables, AllocatorFields fields)
        : vm_(&vm), tables_(tables), fields_(fields) {}
    Result<std::string> name(Address prefix);
    Result<void> fixed_sizes(const StructView& allocator, bool has_pool,
                             records::AllocatorInstance& record);
    Result<records::AllocatorCarriers> carriers(const StructView& allocator, Field carriers,
                                                Field blocks) const;
    Result<records::AllocatorCarriers> pool(const StructView& allocator) const;

    Vm* vm_;
    AllocatorTableFields tables_;
    AllocatorFields fields_;
};

}  // namespace beamdump::beam
