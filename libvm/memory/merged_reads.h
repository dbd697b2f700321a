#pragma once

#include <libvm/memory/memory_source.h>

#include <cstddef>
#include <span>
#include <vector>

namespace beamdump::memory {

/// Reads many parts, neighbours in one piece: blocks of one kind lie side by side in the runtime's
/// carriers. For parts whose order does not matter.
class MergedReads {
  public:
    /// As MemorySource::read_batch. Parts of 64 KiB and more are read as they are; others with gaps
    /// of less than a page between them in pieces of at most 256 KiB. Memory: of those parts and
    /// gaps.
    Result<void> read(MemorySource& source, std::span<BatchRead> reads);

  private:
    /// A stretch of order_.
    struct Piece {
        std::size_t first = 0;
        std::size_t parts = 0;
    };
    void merge(std::span<const BatchRead> reads);

    std::vector<std::size_t> order_;  ///< indexes of the reads, by address
    std::vector<Piece> pieces_;
    std::vector<BatchRead> large_;  ///< of each piece
    std::vector<BatchRead> alone_;
    std::vector<std::byte> bytes_;
};

}  // namespace beamdump::memory
