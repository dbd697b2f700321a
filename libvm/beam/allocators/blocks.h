#pragma once

#include <libvm/beam/allocators/carriers.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace beamdump::beam {

/// Free blocks of carriers with several blocks, by size: class N has those from 2^N bytes on, below
/// 2^(N+1). Sizes have the block's header, as those in erl_alloc_util.c.
struct FreeBlocks {
    struct SizeClass {
        std::uint64_t count = 0;
        std::uint64_t bytes = 0;
    };
    static constexpr std::size_t kClasses = 48;  ///< no block is larger: kMaxMemoryBytes
    std::array<SizeClass, kClasses> classes{};
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    std::uint64_t largest = 0;

    /// `size`: at most kMaxMemoryBytes, not 0.
    void add(std::uint64_t size);
    void add(const FreeBlocks& other);
};

/// A block that was given away.
struct UsedBlock {
    Address address = 0;      ///< behind the header
    std::uint64_t bytes = 0;  ///< header included, which is before the address
    bool tagged = false;      ///< its last words say who asked for it (Allctr_t.atags)
};

/// Walks the blocks of a carrier from header to header, in pages that are in memory.
class FreeBlockReader {
  public:
    explicit FreeBlockReader(Vm& vm);

    static constexpr std::size_t kBytesOfAFarHeader = 1U << 10U;

    /// Is called with the blocks in use, ascending, and may use bytes() of them.
    using UsedVisitor = std::function<Result<void>(const UsedBlock& block)>;

    /// The free blocks of a carrier of several blocks. They count only if the walk met the number
    /// and the bytes of used blocks that the carrier counts, before and after it: kImplausible
    /// where it did not, or where the headers contradict each other, as they do while the carrier
    /// is used. kUnmapped: a header is not in memory. Sets what the carrier counts to that time.
    /// Reads: kBytesOfAFarHeader for a header that is far from the one before it, up to 64 KiB
    /// where they are close together; the carrier once at most.
    Result<FreeBlocks> read(CarrierPlace& carrier);
    /// The same of any carrier, with its blocks in use as far as they were met: they count only if
    /// there is no error. The visitor's errors end the walk.
    Result<FreeBlocks> read(CarrierPlace& carrier, const UsedVisitor& visit);

    /// For the visitor: copies bytes of the carrier; how many of them are in memory. Asked for in
    /// ascending order.
    Result<std::size_t> bytes(Address address, std::span<std::byte> into);

  private:
    class Walk;
    Result<FreeBlocks> single(const CarrierPlace& carrier, const UsedVisitor& visit);
    Result<bool> copy(Address address, std::size_t least);
    Result<std::uint64_t> word(Address address);

    Vm& vm_;
    std::vector<memory::AddressRange> present_;  // pages of the carrier
    std::vector<std::byte> window_;              // copied
    std::size_t window_bytes_ = 0;               // at a time
    memory::AddressRange copied_;
};

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
