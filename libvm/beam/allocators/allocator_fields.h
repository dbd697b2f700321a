#pragma once

#include <libvm/beam/layout/layout.h>

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
    std::uint32_t bytes, count_bytes, stats_bytes, fix_bytes;
    std::uint64_t fix_count;
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

}  // namespace beamdump::beam
