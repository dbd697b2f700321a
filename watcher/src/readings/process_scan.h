#pragma once

#include "readings/process_names.h"

#include <libsample/counts/process_counts.h>

#include <records.pb.h>

#include <atomic>
#include <optional>
#include <vector>

namespace beamdump::watch {

/// Processes by what they are the first in.
struct RankedProcess {
    sampler::ProcessCounts counts;
    std::optional<std::int64_t> heap_growth{};      ///< bytes since the reading before
    std::optional<std::int64_t> messages_growth{};  ///< since the reading before
};

/// Those of a reading that are kept: the first in heap, messages, and growth of both.
class RankedProcesses {
  public:
    static constexpr std::size_t kFirst = 10;

    void add(const RankedProcess& process);
    /// Each once, by heap.
    [[nodiscard]] std::vector<RankedProcess> take();

  private:
    enum By : std::uint8_t { kHeap, kMessages, kHeapGrowth, kMessagesGrowth, kOrders };
    /// What decides in an order; nothing: it is none of these.
    static std::optional<std::uint64_t> key(const RankedProcess& process, By by);
    std::array<std::vector<RankedProcess>, kOrders> first_;  // the first of each order
};

/// Reads all processes of a running node, a part at a time.
class ProcessScan {
  public:
    explicit ProcessScan(sampler::CountsReader counts) : counts_(std::move(counts)) {}

    /// Slots of the process table.
    [[nodiscard]] std::uint32_t slots() const { return counts_.slots(); }
    /// Reads the processes in the next `slots` slots. With the last of the table: what all of them
    /// are. kTargetDied; kIo: cancelled.
    Result<std::optional<records::HistoryScan>> go_on(beam::Vm& vm, std::uint32_t slots,
                                                      const std::atomic<bool>& cancelled);

  private:
    /// What a process had when it was read last.
    struct Before {
        std::uint64_t owner_id = 0;
        std::uint64_t heap_bytes = kUnknown;
        std::uint64_t messages = kUnknown;
    };
    static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

    RankedProcess ranked(const sampler::ProcessCounts& counts);
    Result<records::HistoryScan> finish(beam::Vm& vm);

    sampler::CountsReader counts_;
    std::optional<ProcessNames> names_;
    std::uint32_t next_slot_ = 0;
    records::HistoryScan scan_;
    RankedProcesses ranked_;
    // The processes of the reading before and of this one, by slot.
    std::vector<std::pair<std::uint32_t, Before>> before_, now_;
    std::size_t compared_ = 0;  // of before_
};

}  // namespace beamdump::watch
