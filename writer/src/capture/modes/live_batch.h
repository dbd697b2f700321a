#pragma once

#include "capture/copy/contents_ahead.h"
#include "capture/modes/process_retrier.h"

#include <span>
#include <vector>

namespace beamdump::capture {

/// Many processes of a running node, read together: their structures, the contents of the small
/// ones, their structures again.
class LiveBatch {
  public:
    explicit LiveBatch(Session& session) : session_(&session) {}

    /// Replaces what was read before. Cached memory is as old as the first reading of the
    /// structures from then on.
    Result<void> read(ProcessRetrier& retrier, std::span<const beam::IdSlot> slots);

    /// The process in `slots[index]`; null if it was left out or changed meanwhile: it is to be
    /// tried alone.
    [[nodiscard]] const ReadTogether* of(std::size_t index) const {
        return processes_[index].still ? &processes_[index] : nullptr;
    }

  private:
    Session* session_;
    ContentsAhead contents_;
    std::vector<beam::Address> addresses_;
    std::vector<beam::ProcessReading> before_, after_;
    std::vector<std::span<const std::byte>> structures_;
    std::vector<ReadTogether> processes_;
};

}  // namespace beamdump::capture
