#pragma once

#include <libvm/beam/allocators/allocator_fields.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/vm/vm.h>

#include <records.pb.h>

#include <vector>

namespace beamdump::beam {

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
