#pragma once

#include <libvm/beam/allocators/allocators.h>

#include <vector>

namespace beamdump::beam {

/// A carrier: memory that an allocator has its blocks in. Its counters are words that one thread
/// writes, read at one time; while the node runs each is off by an operation at most.
struct CarrierPlace {
    memory::AddressRange range;
    std::uint32_t allocator = 0;     ///< number
    std::uint32_t instance = 0;      ///< index of the owner
    std::uint32_t header_bytes = 0;  ///< of several blocks: where the first begins
    bool single_block = false;
    bool pooled = false;  ///< abandoned
    bool mseg = false;    ///< from mseg_alloc, else from malloc
    std::uint64_t blocks = 0;
    std::uint64_t block_bytes = 0;  ///< headers included
};

/// The carriers of an allocator's instances by their lists and by the allocator's pool, ascending.
/// Each is recognised by its owner and its size, and its blocks are no larger than it. kImplausible
/// where a list leads astray or has more members than the instances count; while the node runs that
/// happens, and another try helps. Reads: one a carrier.
Result<std::vector<CarrierPlace>> read_carriers(Vm& vm, std::span<const AllocatorState> instances);

/// Reads a carrier again, as it is now. kImplausible where it is another one.
Result<CarrierPlace> read_again(Vm& vm, const CarrierPlace& carrier);

}  // namespace beamdump::beam
