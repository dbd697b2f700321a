#pragma once

#include "capture/copy/contents_ahead.h"
#include "capture/modes/batches_ahead.h"
#include "capture/modes/process_retrier.h"

#include <span>
#include <vector>

namespace beamdump::capture {

/// Many processes of a running node, read together: their structures, the contents of the small
/// ones, their structures again.
class LiveBatch {
  public:
    LiveBatch(const beam::ProcessProof& proof, const beam::ProcessReader& reader)
        : proof_(proof), reader_(&reader) {}

    void begin(std::span<const beam::IdSlot> slots) { slots_.assign(slots.begin(), slots.end()); }

    /// Reads the processes in slots(). `source` must not be cached.
    Result<void> read(memory::MemorySource& source, const WantedContents& wanted);

    [[nodiscard]] std::span<const beam::IdSlot> slots() const { return slots_; }

    /// The process in `slots()[index]`; null if it was left out or changed meanwhile: it is to be
    /// tried alone.
    [[nodiscard]] const ReadTogether* of(std::size_t index) const {
        return processes_[index].still ? &processes_[index] : nullptr;
    }

  private:
    beam::ProcessProof proof_;
    const beam::ProcessReader* reader_;
    ContentsAhead contents_;
    std::vector<beam::IdSlot> slots_;
    std::vector<beam::Address> addresses_;
    std::vector<beam::ProcessReading> before_, after_;
    std::vector<std::span<const std::byte>> structures_;
    std::vector<ReadTogether> processes_;
};

}  // namespace beamdump::capture
