#pragma once

#include "query/facts/dump_facts.h"
#include "query/process/process_line.h"
#include "query/processes/process_columns.h"
#include "query/rows/row_filter.h"

#include <libdump/base/error.h>
#include <libdump/model/dump_form.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace beamdump::query {

enum class ProcessSort : std::uint8_t {
    kMemory,
    kReductions,
    kQueue,
    kName,
    kPid,
    kBinaries,  ///< reads all processes that match
    kEts,
    kStack,
    kLinks,
    kMonitors,
    kMonitoredBy,
};

/// A field of a process as text.
enum class ProcessField : std::uint8_t {
    kPid,
    kName,
    kInitialCall,  ///< of spawn, or what proc_lib keeps
    kCurrentFunction,
    kStatus,
    kState,  ///< flag_names()
    kFlags,
};

/// What filters of processes compare: the fields above, in their order, then memory, reductions,
/// queue, links, monitors and monitored_by.
std::span<const Column> process_filter_columns();

/// Parses a filter of these. kUsage also for an unknown status, with the known ones.
Result<RowFilter> parse_filter(std::string_view argument);

/// The column on request that has what processes are sorted by.
std::optional<ProcessColumn> column_of(ProcessSort sort);

/// What processes are sorted by: numbers largest first, the others ascending, unless it is the
/// other way round.
struct ProcessOrder {
    ProcessSort by = ProcessSort::kMemory;
    bool reversed = false;
};
/// Parses memory, reductions, queue, name, pid, binaries, ets, stack, links, monitors or
/// monitored_by, or one with - before it. kUsage.
Result<ProcessOrder> parse_sort(std::string_view name);

struct ProcessQuery {
    ProcessOrder sort = {};
    std::vector<RowFilter> filters;  ///< all must match
    std::uint64_t limit = 20;        ///< 0: all
    ColumnChoice columns = {};       ///< that is shown besides
    bool names = false;              ///< also those in dictionaries, of the processes shown
    ReadProgress progress = {};      ///< of reading processes for these columns
};

/// The selected processes in order, in batches. Numbers sort largest first, names and pids
/// ascending. Only the columns that sorting and filtering need are read for all processes. Memory:
/// 16 bytes for each process that matches, at most twice `limit` of them, and one batch; sorted by
/// binaries 80 bytes for each; sorted or filtered by name a label for each that has one.
class ProcessListing {
  public:
    /// kNotFound where the dump does not tell of any process what they are to be sorted by; memory,
    /// by which they are sorted where nothing is asked for, is no error.
    static Result<ProcessListing> select(Dump& dump, const ProcessQuery& query);

    [[nodiscard]] std::uint64_t total() const { return total_; }  ///< in the dump
    [[nodiscard]] std::uint64_t matching() const { return matching_; }
    [[nodiscard]] std::uint64_t shown() const { return rows_.size(); }
    [[nodiscard]] const ColumnChoice& columns() const { return choice_; }
    /// The column of a filter that let nothing pass because the dump does not tell it of any
    /// process that the filter looked at; empty: there is none.
    [[nodiscard]] const std::string& untold() const { return untold_; }
    /// Processes that were read for columns.
    [[nodiscard]] const std::optional<ProcessesRead>& read() const { return columns_.read(); }

    static constexpr std::size_t kMostLines = 65'536;

    /// The next lines, at most `most` and kMostLines; empty at the end.
    Result<std::vector<ProcessLine>> next(std::size_t most = kMostLines);

  private:
    ProcessListing(Dump& dump, const ProcessQuery& query)
        : dump_(&dump),
          choice_(query.columns),
          columns_(dump, query.columns, query.progress),
          columns_are_read_(
              query.sort.by == ProcessSort::kBinaries ||
              (query.sort.by == ProcessSort::kStack && !form_of(dump).indexed_stack_sizes)),
          names_(query.names) {}

    Result<void> read_in_advance(const ProcessQuery& query);

    Dump* dump_;  // non-owning
    ColumnChoice choice_;
    ProcessColumns columns_;
    bool columns_are_read_;
    bool names_;
    std::unordered_map<std::uint64_t, std::string> labels_;  ///< that are searched or sorted by
    std::vector<std::uint64_t> rows_;
    std::uint64_t total_ = 0;
    std::uint64_t matching_ = 0;
    std::string untold_;
    std::size_t given_ = 0;
};

}  // namespace beamdump::query
