#pragma once

#include <libsample/counts/node_load.h>
#include <libsample/counts/process_counts.h>
#include <libsample/stack/process_stacks.h>

#include <string>
#include <string_view>
#include <vector>

namespace beamdump::sampler {

/// What comes first.
enum class TopSort : std::uint8_t { kReductions, kMemory, kGrowth, kQueue, kQueueGrowth };

/// "reductions", "memory", "growth", "queue" or "queue-growth". kUsage.
Result<TopSort> parse_top_sort(std::string_view name);
std::string_view top_sort_name(TopSort sort);

struct TopOptions {
    TopSort sort = TopSort::kReductions;
    std::size_t limit = 20;  ///< rows
    std::string filter{};    ///< in pid, name, initial call or current function; empty: all
};

/// A process with its changes a second since the reading before; absent where it was not there, or
/// a count is not known.
struct TopRates {
    ProcessCounts counts;
    std::optional<double> reductions{};
    std::optional<double> heap_growth{};   ///< bytes
    std::optional<double> queue_growth{};  ///< messages
};

struct TopRow {
    TopRates rates;
    ProcessIdentity process;
};

/// One refresh.
struct TopReport {
    std::string node;
    std::string otp_release;
    pid_t pid = 0;
    std::int64_t read_us = 0;  ///< since the epoch
    double seconds = 0;        ///< since the reading before
    std::uint64_t processes = 0;
    std::uint64_t unreadable = 0;
    std::uint64_t left_out = 0;
    std::optional<std::uint64_t> searched{};  ///< with a filter: of how many the names were read
    TopSort sort = TopSort::kReductions;
    std::map<ThreadGroup, double> utilisation{};
    NodeLoad load{};
    std::vector<TopRow> rows{};
    std::int64_t cost_ns = 0;  ///< processor time of this program for the reading and the rows
};

/// Changes from one reading to the next. Both by slot, as CountsReader gives them.
std::vector<TopRates> rates_between(const ProcessesRead& before, const ProcessesRead& after);

/// Indexes of the processes by `sort`, the largest first; at most `most` of them. Those without a
/// value are not among them.
std::vector<std::size_t> sorted_by(const std::vector<TopRates>& rates, TopSort sort,
                                   std::size_t most);

/// Reads a node again and again.
class TopReader {
  public:
    /// With a filter, names of at most so many processes are read, in order.
    static constexpr std::size_t kMostSearched = 20'000;

    /// Reads for the first time. Non-owning. Errors as refresh().
    static Result<TopReader> open(ObservedNode& node, const std::atomic<bool>& cancelled);
    /// Reads again, and gives the changes since the last reading. kTargetDied; kIo: cancelled.
    Result<TopReport> refresh(const TopOptions& options, const std::atomic<bool>& cancelled);
    /// The last readings in another order. Errors as refresh().
    Result<TopReport> again(const TopOptions& options, const std::atomic<bool>& cancelled);
    /// The stack of a process, as lines: tried again while it runs or changes.
    Result<std::vector<std::string>> stack(const beam::IdSlot& slot, std::uint64_t owner_id,
                                           const std::atomic<bool>& cancelled);

  private:
    TopReader(ObservedNode& node, CountsReader counts, ProcessStacks stacks)
        : node_(&node), counts_(std::move(counts)), stacks_(std::move(stacks)) {}
    Result<void> rows(const TopOptions& options, const std::atomic<bool>& cancelled,
                      TopReport& report);

    ObservedNode* node_;
    CountsReader counts_;
    ProcessStacks stacks_;
    ProcessesRead last_;
    NodeLoad last_load_;
    std::vector<TopRates> rates_;
    TopReport facts_;  // of the last refresh, without rows
};

}  // namespace beamdump::sampler
