#pragma once

#include <libvm/beam/processes/process.h>
#include <libvm/memory/merged_reads.h>
#include <libvm/memory/prefetched.h>

#include <cstddef>
#include <span>
#include <vector>

namespace beamdump::capture {

/// Stacks, heaps, dictionaries and the first links and monitors of many small processes, read with
/// few calls: a call for each of a million small processes takes longer than copying what it reads.
class ContentsAhead {
  public:
    /// The bytes of a process that is not to be read.
    static constexpr std::span<const std::byte> kNone = {};

    /// Reads the contents of processes by their structures, as `reader` finds them there. Left out:
    /// those with kNone, those of more than 64 KiB, those behind the first
    /// HeldSizes::contents_bytes in all, and those of which stack or heaps cannot be read. Replaces
    /// what was read before. Memory: those bytes, what MergedReads needs to read them, and some 500
    /// bytes a process.
    Result<void> read(memory::MemorySource& source, const beam::ProcessReader& reader,
                      std::span<const std::span<const std::byte>> structures);

    /// The contents of the process with the structure `index`; null: left out.
    [[nodiscard]] const std::vector<memory::HeldPart>* of(std::size_t index) const;

  private:
    struct Contents {
        std::size_t first_read = 0;
        std::size_t areas = 0;  ///< reads that must succeed
        std::size_t reads = 0;  ///< those, and others
        std::vector<memory::HeldPart> parts;
        bool here = false;
    };
    void add(beam::Address address, std::size_t bytes);
    void plan(std::span<const std::byte> structure, const beam::ProcessReader& reader,
              Contents& contents);

    std::vector<std::byte> bytes_;
    std::size_t used_ = 0;
    std::vector<memory::BatchRead> reads_;
    memory::MergedReads merged_;
    std::vector<Contents> contents_;  ///< more than there are structures: kept for the next
};

}  // namespace beamdump::capture
