#include <libvm/beam/allocators/allocator_fields.h>

namespace beamdump::beam {

AllocatorTableFields::AllocatorTableFields(LayoutNames& names)
    : is_util(names.field("ErtsAllocatorInfo", "alloc_util")),
      enabled(names.field("ErtsAllocatorInfo", "enabled")),
      thread_specific(names.field("ErtsAllocatorInfo", "thr_spec")),
      extra(names.field("ErtsAllocatorInfo", "extra")),
      spec_enabled(names.field("ErtsAllocatorThrSpec", "enabled")),
      spec_size(names.field("ErtsAllocatorThrSpec", "size")),
      spec_instances(names.field("ErtsAllocatorThrSpec", "allctr")),
      info_bytes(names.bytes("ErtsAllocatorInfo")),
      spec_bytes(names.bytes("ErtsAllocatorThrSpec")),
      last(names.constant("allocator_last")) {}

AllocatorFields::AllocatorFields(LayoutNames& names)
    : name_prefix(names.field("Allctr", "name_prefix")),
      number(names.field("Allctr", "alloc_no")),
      index(names.field("Allctr", "ix")),
      multi_list(names.field("Allctr", "mbc_list.first")),
      single_list(names.field("Allctr", "sbc_list.first")),
      deallocated_list(names.field("Allctr", "cpool.dc_list.first")),
      pool_sentinel(names.field("Allctr", "cpool.sentinel")),
      pool_limit(names.field("Allctr", "cpool.util_limit")),
      pool_block_bytes(names.field("Allctr", "cpool.stat.blocks_size")),
      pool_blocks(names.field("Allctr", "cpool.stat.no_blocks")),
      pool_carrier_bytes(names.field("Allctr", "cpool.stat.carriers_size")),
      pool_carriers(names.field("Allctr", "cpool.stat.no_carriers")),
      literal_mapper(names.field("Allctr", "mseg_mmapper")),
      fix(names.field("Allctr", "fix")),
      carrier_header_bytes(names.field("Allctr", "mbc_header_size")),
      single_carriers(names.field("Allctr", "sbcs.carriers")),
      single_blocks(names.field("Allctr", "sbcs.blocks")),
      multi_carriers(names.field("Allctr", "mbcs.carriers")),
      multi_blocks(names.field("Allctr", "mbcs.blocks")),
      count(names.field("AllctrCount", "no")),
      size(names.field("AllctrCount", "size")),
      block_count(names.field("AllctrBlockStats", "curr.no")),
      block_bytes(names.field("AllctrBlockStats", "curr.size")),
      type_bytes(names.field("ErtsAlcFixList", "type_size")),
      pool_allocated(names.field("ErtsAlcFixList", "u.cpool.allocated")),
      pool_used(names.field("ErtsAlcFixList", "u.cpool.used")),
      plain_allocated(names.field("ErtsAlcFixList", "u.nocpool.allocated")),
      plain_used(names.field("ErtsAlcFixList", "u.nocpool.used")),
      bytes(names.bytes("Allctr")),
      count_bytes(names.bytes("AllctrCount")),
      stats_bytes(names.bytes("AllctrBlockStats")),
      fix_bytes(names.bytes("ErtsAlcFixList")),
      fix_count(names.constant("fix_count")) {}

CarrierFields::CarrierFields(LayoutNames& names)
    : header(names.field("Carrier", "chdr")),
      next(names.field("Carrier", "next")),
      owner(names.field("Carrier", "allctr")),
      pool(names.field("Carrier", "cpool")),
      pool_next(names.field("CarrierPoolData", "next")),
      blocks(names.field("CarrierPoolData", "blocks")),
      block_bytes(names.field("CarrierPoolData", "blocks_size")),
      all_block_bytes(names.field("CarrierPoolData", "total_blocks_size")),
      bytes(names.bytes("Carrier")) {}

SegmentFields::SegmentFields(LayoutNames& names)
    : index(names.field("ErtsMsegAllctr", "ix")),
      initialised(names.field("ErtsMsegAllctr", "is_init_done")),
      cache_size(names.field("ErtsMsegAllctr", "cache_size")),
      max_cache_size(names.field("ErtsMsegAllctr", "max_cache_size")),
      unpowered(names.field("ErtsMsegAllctr", "cache_unpowered_node")),
      powered(names.field("ErtsMsegAllctr", "cache_powered_node")),
      entry_size(names.field("MsegCacheEntry", "size")),
      entry_segment(names.field("MsegCacheEntry", "seg")),
      entry_next(names.field("MsegCacheEntry", "next")),
      super_carrier(names.field("ErtsMemMapper", "supercarrier")),
      no_os(names.field("ErtsMemMapper", "no_os_mmap")),
      super_total(names.field("ErtsMemMapper", "size.supercarrier.total")),
      super_used(names.field("ErtsMemMapper", "size.supercarrier.used.total")),
      super_used_aligned(names.field("ErtsMemMapper", "size.supercarrier.used.sa")),
      super_used_unaligned(names.field("ErtsMemMapper", "size.supercarrier.used.sua")),
      os_used(names.field("ErtsMemMapper", "size.os.used")),
      allocator_bytes(names.bytes("ErtsMsegAllctr")),
      stride(names.bytes("AlignedMsegAllctr")),
      entry_bytes(names.bytes("MsegCacheEntry")),
      mapper_bytes(names.bytes("ErtsMemMapper")) {}

}  // namespace beamdump::beam
