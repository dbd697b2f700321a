#pragma once

#include <libvm/beam/processes/queue_lengths.h>
#include <libvm/beam/tables/id_table.h>
#include <libvm/beam/vm/vm.h>
#include <libvm/memory/merged_reads.h>

#include <atomic>
#include <optional>
#include <vector>

namespace beamdump::sampler {

/// What one reading of a process's structure counts.
struct ProcessCounts {
    beam::IdSlot slot;
    std::uint64_t owner_id = 0;
    /// Without those of a time slice under way (`reds`, erl_process.h).
    std::uint64_t reductions = 0;
    /// Blocks of the young and old heap, the stack among them, and heap fragments that belong to
    /// the heap; process_info(total_heap_size) without waiting messages. Nothing while it collects
    /// garbage, or if the bounds contradict each other.
    std::optional<std::uint64_t> heap_bytes{};
    std::optional<std::uint64_t> messages{};  ///< in its queues; nothing if unknown
};

/// All processes at about one moment, by slot.
struct ProcessesRead {
    std::vector<ProcessCounts> processes;
    std::int64_t at_ns = 0;        ///< CLOCK_MONOTONIC, when reading began
    std::uint64_t unreadable = 0;  ///< ended or began meanwhile
    std::uint64_t left_out = 0;    ///< beyond kMostProcesses
};

/// Reads counts of all processes of a node that runs: structures many at a time, nothing else of
/// most processes.
class CountsReader {
  public:
    /// A reading has at most so many processes: 112 MiB.
    static constexpr std::size_t kMostProcesses = std::size_t{1} << 21U;

    /// Non-owning.
    static Result<CountsReader> open(beam::Vm& vm);
    /// kTargetDied; kIo: cancelled.
    Result<ProcessesRead> read(const std::atomic<bool>& cancelled);
    /// Those in the table's slots from `first` on, `slots` of them at most. Errors as read().
    Result<void> read_some(std::uint32_t first, std::uint32_t slots,
                           const std::atomic<bool>& cancelled, ProcessesRead& into);
    /// Slots in the table.
    [[nodiscard]] std::uint32_t slots() const { return table_.slots(); }
    /// The counts in a process's structure, copied from `slot`; nothing if it is not that
    /// process's.
    [[nodiscard]] std::optional<ProcessCounts> counts(const beam::IdSlot& slot,
                                                      const beam::StructView& view) const;

  private:
    CountsReader(beam::Vm& vm, beam::IdTable table, beam::PidWords pids, beam::LayoutNames& names);
    Result<void> batch(std::span<const beam::IdSlot> slots, ProcessesRead& into);

    beam::Vm* vm_;
    beam::IdTable table_;
    beam::PidWords pids_;
    beam::QueueCounter queues_;
    beam::Field id_, reds_, state_, heap_, hend_, heap_sz_, old_heap_, old_hend_, mbuf_sz_,
        abandoned_;
    std::uint64_t collecting_ = 0;
    std::uint32_t bytes_ = 0;
    memory::MergedReads merged_;
    std::vector<std::byte> structures_;
    std::vector<memory::BatchRead> reads_;
};

}  // namespace beamdump::sampler
