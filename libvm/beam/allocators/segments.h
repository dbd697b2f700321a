#pragma once

#include <libvm/beam/allocators/allocators.h>
#include <libvm/beam/vm/vm.h>

#include <records.pb.h>

#include <vector>

namespace beamdump::beam {

/// Segments that mseg_alloc (erl_mseg.c) keeps for later, of `instances` instances: memory that
/// no carrier is in. Reads: one an instance. kAbsent: its instances were not found. kImplausible
/// where a list leads out of its instance or the count is another.
Result<std::vector<memory::AddressRange>> read_segment_cache(Vm& vm, std::uint32_t instances);

/// The counters of an ErtsMemMapper (erl_mmap.c). kImplausible where it is no such structure.
Result<records::MemoryMapper> read_memory_mapper(Vm& vm, Address address);

}  // namespace beamdump::beam
