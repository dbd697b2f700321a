#pragma once

#include "beam/allocators/allocators.h"

#include <vector>

namespace beamdump::beam {

/// A carrier: memory that an allocator has its blocks in.
struct CarrierPlace {
    memory::AddressRange range;
    std::uint32_t allocator = 0;  ///< number
};

/// The carriers of an allocator's instances by their lists and by the allocator's pool, ascending.
/// Each is recognised by its owner and its size. kImplausible where a list leads astray or has more
/// members than the instances count; while the node runs that happens, and another try helps.
/// Reads: one a carrier.
Result<std::vector<CarrierPlace>> read_carriers(Vm& vm, std::span<const AllocatorState> instances);

}  // namespace beamdump::beam
