#pragma once

#include <libvm/memory/memory_source.h>
#include <libvm/memory/present_pages.h>

#include <memory>

namespace beamdump::memory {

/// A memory source that can be switched: first the process itself, later its twin. References to it
/// read from the current one.
class SwitchedMemory final : public MemorySource, public PresentPages {
  public:
    SwitchedMemory(std::unique_ptr<MemorySource> memory, std::unique_ptr<PresentPages> pages)
        : memory_(std::move(memory)), pages_(std::move(pages)) {}

    /// Replaces the contents; returns the previous ones.
    std::pair<std::unique_ptr<MemorySource>, std::unique_ptr<PresentPages>> exchange(
        std::unique_ptr<MemorySource> memory, std::unique_ptr<PresentPages> pages) {
        const auto left = memory_->stats();
        earlier_.bytes += left.bytes;
        earlier_.reads += left.reads;
        const auto begun = memory->stats();
        earlier_.bytes -= begun.bytes;
        earlier_.reads -= begun.reads;
        std::swap(memory_, memory);
        std::swap(pages_, pages);
        return {std::move(memory), std::move(pages)};
    }

    Result<std::size_t> read_some(Address address, std::span<std::byte> into) override {
        return memory_->read_some(address, into);
    }
    Result<void> read_batch(std::span<BatchRead> reads) override {
        return memory_->read_batch(reads);
    }
    /// That of the current source, also after a switch.
    std::unique_ptr<MemorySource> second_source() override { return memory_->second_source(); }
    /// Those of all sources so far.
    [[nodiscard]] MemoryStats stats() const override {
        const auto latest = memory_->stats();
        return {earlier_.bytes + latest.bytes, earlier_.reads + latest.reads};
    }
    Result<std::vector<AddressRange>> present(AddressRange range) override {
        return pages_->present(range);
    }

  private:
    std::unique_ptr<MemorySource> memory_;
    std::unique_ptr<PresentPages> pages_;
    MemoryStats earlier_;  // wraps below zero and back: sums are modulo 2^64
};

}  // namespace beamdump::memory
