#pragma once

#include <libvm/beam/allocators/carriers.h>

#include <optional>
#include <vector>

namespace beamdump::beam {

/// The blocks that eheap_alloc has given away, heaps and heap fragments, and those of temp_alloc,
/// to which a heap is copied first when its process hibernates.
class HeapBlocks {
  public:
    /// Finds the carriers of both. Only of memory that stands still. Errors as
    /// AllocatorReader's and read_carriers()'.
    static Result<HeapBlocks> find(Vm& vm);

    /// The usable bytes of the block in use that has an address; nullopt: no such block has it.
    /// Reads each header before it in a carrier of several blocks.
    Result<std::optional<memory::AddressRange>> block_at(Address address);

  private:
    HeapBlocks(Vm& vm, std::vector<CarrierPlace> carriers, std::uint64_t single_block_offset)
        : vm_(&vm), carriers_(std::move(carriers)), single_block_offset_(single_block_offset) {}

    Vm* vm_;
    std::vector<CarrierPlace> carriers_;  // ascending
    std::uint64_t single_block_offset_;   // from a carrier's beginning to its one block
};

}  // namespace beamdump::beam
