#pragma once

#include "beam/messages.h"
#include "beam/off_heap.h"
#include "beam/relations.h"
#include "capture/binary_store.h"
#include "capture/index_writer.h"

namespace beamdump::capture {

/// Writes processes' runs: structure, regions, queues, relations, end.
class ProcessCapture {
  public:
    struct Parts {
        beam::Vm& vm;
        beam::CodeLookup& code;
        RegionCopier& copier;
        BinaryStore& binaries;
        IndexWriter& index;
        const RegionCopier::Scrub& scrub;  ///< for every heap
        /// For processes with a registered name, and for bytes that are no words.
        const RegionCopier::Scrub& scrub_named;
        /// Ends a walk over a chain that was torn into a ring: more members than fit into memory.
        std::uint64_t chain_limit;
    };
    static Result<ProcessCapture> open(const Parts& parts);

    /// Decodes and writes one process. A structure that is no process's is counted and left out.
    Result<void> capture(beam::ProcessSlot slot, std::span<const std::byte> structure,
                         std::uint32_t epoch);

    [[nodiscard]] std::uint32_t structure_bytes() const { return reader_.bytes(); }
    [[nodiscard]] std::uint64_t words() const { return words_; }
    [[nodiscard]] std::uint64_t unrecognised() const { return unrecognised_; }

  private:
    ProcessCapture(const Parts& parts, beam::ProcessReader reader, beam::RelationWalker relations,
                   beam::MessageWalker messages, beam::FragmentReader fragments,
                   beam::OffHeapWalker off_heap)
        : parts_(parts),
          reader_(std::move(reader)),
          relations_(std::move(relations)),
          messages_(std::move(messages)),
          fragments_(std::move(fragments)),
          off_heap_(std::move(off_heap)) {}

    struct Outcome {
        records::ProcessEnd end;
        std::uint64_t memory_bytes = 0;
        std::uint64_t message_words = 0;  ///< in fragments, of an on-heap queue
    };
    Result<void> contents(const beam::ProcessView& process, RunWriter& run, Outcome& outcome);
    Result<void> relations(const records::Relations& page, RunWriter& run);
    Result<void> heaps(const beam::ProcessView& process, RunWriter& run);
    Result<void> off_heap(const beam::ProcessView& process, const RunWriter& run);
    Result<void> list(beam::Address first, std::uint64_t limit);
    Result<void> finish(const beam::ProcessView& process, std::uint64_t begin, Outcome& outcome);

    Parts parts_;
    beam::ProcessReader reader_;
    beam::RelationWalker relations_;
    beam::MessageWalker messages_;
    beam::FragmentReader fragments_;
    beam::OffHeapWalker off_heap_;
    std::uint64_t words_ = 0;
    std::uint64_t unrecognised_ = 0;
};

}  // namespace beamdump::capture
