#pragma once

#include <libvm/memory/memory_source.h>
#include <libvm/memory/present_pages.h>

#include <cstdint>
#include <span>
#include <vector>

namespace beamdump::memory {

/// Bytes of the target's memory that were read already, and their addresses.
struct HeldPart {
    AddressRange range;
    std::span<const std::byte> bytes;
};

/// Parts of the target's memory that were read ahead together.
class Prefetched {
  public:
    /// Replaces the contents by `parts`, read with as few calls as possible. A part that cannot be
    /// read completely is skipped. Memory: the sum of the parts.
    Result<void> read(MemorySource& source, std::span<const AddressRange> parts);
    /// Adds parts to the present contents.
    Result<void> add(MemorySource& source, std::span<const AddressRange> parts);
    /// Replaces the contents by what was read through PrefetchedMemory since the last repeat(), as
    /// it is now, and takes note of what is read from now on. For a caller that reads the same
    /// structures again and again: each time with a call or two.
    Result<void> repeat(MemorySource& source);
    /// Takes note of a read that nothing here could answer, from repeat() until drop().
    void note(AddressRange range);
    /// Replaces the contents by a copy of `parts`.
    void hold(std::span<const HeldPart> parts);
    void drop();

    /// The prefetched bytes from `address` to the end of its part (of one of them, where parts
    /// overlap); may be empty.
    [[nodiscard]] std::span<const std::byte> at(Address address) const;

  private:
    struct Part {
        AddressRange range;
        std::size_t offset = 0;
        mutable bool used = false;  // for repeat()
    };
    std::vector<Part> parts_;
    std::vector<std::byte> bytes_;  // kept for the next
    std::size_t used_ = 0;          // of bytes_
    mutable std::size_t last_ = 0;  // the part found last: the next address is mostly in it
    bool noting_ = false;
    std::vector<AddressRange> noted_;
    std::uint64_t noted_bytes_ = 0;
};

/// Reads prefetched parts from memory, and all else from `source`.
class PrefetchedMemory final : public MemorySource {
  public:
    /// Non-owning.
    PrefetchedMemory(MemorySource& source, Prefetched& held) : source_(source), held_(held) {}

    Result<std::size_t> read_some(Address address, std::span<std::byte> into) override;
    /// Straight from the source.
    Result<void> read_batch(std::span<BatchRead> reads) override {
        misses_ += reads.size();
        return source_.read_batch(reads);
    }
    /// How many reads went to the source.
    [[nodiscard]] std::uint64_t misses() const { return misses_; }
    [[nodiscard]] MemoryStats stats() const override { return source_.stats(); }

  private:
    MemorySource& source_;
    Prefetched& held_;
    std::uint64_t misses_ = 0;
};

}  // namespace beamdump::memory
