#pragma once

#include "query/process/process_line.h"
#include "query/rows/row_filter.h"

#include <libdump/base/error.h>
#include <libdump/model/dump_form.h>

#include <records.pb.h>

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// A column of lists of processes, in the order in which a text shows them.
enum class ProcessColumn : std::uint8_t {
    kPid,
    kName,
    kMemory,
    kReductions,
    kQueue,
    kBinaries,
    kEts,
    kStack,
    kHeap,
    kOldHeap,
    kLinks,
    kMonitors,
    kMonitoredBy,
    kApplication,
    kState,
    kFlags,
    kStatus,
    kCurrentFunction,
    kInitialCall,
};

/// Columns of the process index in which the value of a list's column is; UNKNOWN: none, or no
/// further one.
using IndexColumns = std::array<records::ProcessColumnKind, 3>;

/// What proc_lib keeps: module, function, arity.
inline constexpr IndexColumns kTranslatedCall = {records::PROCESS_COLUMN_TRANSLATED_MODULE,
                                                 records::PROCESS_COLUMN_TRANSLATED_FUNCTION,
                                                 records::PROCESS_COLUMN_TRANSLATED_ARITY};

/// When a list shows a column.
enum class Shown : std::uint8_t {
    kAlways,
    kOnRequest,
    kNever,  ///< the name stands for it
};

/// A column, declared once: processes are listed, sorted and filtered by it.
struct ListedColumn {
    ProcessColumn column;
    Column asked;  ///< its names and title; amounts in words are asked for in bytes
    Shown shown = Shown::kAlways;
    std::string_view what = {};  ///< for the help; empty: the name says it
    bool in_words = false;
    std::optional<std::uint64_t> ProcessLine::* amount = nullptr;
    std::optional<std::uint64_t> ProcessLine::* count = nullptr;  ///< of what has this amount
    std::optional<std::string> ProcessLine::* text = nullptr;     ///< in place of an amount
    IndexColumns index = {};  ///< none: it is read of the processes, or of tables
    bool searched = false;    ///< by a filter that names no column
};
/// By ProcessColumn.
std::span<const ListedColumn> listed_columns();
const ListedColumn& listed_column(ProcessColumn column);
/// By one of its names.
std::optional<ProcessColumn> find_process_column(std::string_view name);

/// Whether the process index has it.
bool is_indexed(ProcessColumn column, const DumpForm& form);

/// Which of them.
class ColumnChoice {
  public:
    void add(ProcessColumn column) { chosen_.set(static_cast<std::size_t>(column)); }
    void remove(ProcessColumn column) { chosen_.reset(static_cast<std::size_t>(column)); }
    void add(const ColumnChoice& other) { chosen_ |= other.chosen_; }
    [[nodiscard]] bool has(ProcessColumn column) const {
        return chosen_.test(static_cast<std::size_t>(column));
    }
    /// Whether something of each process is read, beside the index.
    [[nodiscard]] bool reads_processes(const DumpForm& form) const {
        return has(ProcessColumn::kBinaries) || has(ProcessColumn::kHeap) ||
               has(ProcessColumn::kOldHeap) ||
               (has(ProcessColumn::kStack) && !form.indexed_stack_sizes);
    }

  private:
    std::bitset<static_cast<std::size_t>(ProcessColumn::kInitialCall) + 1> chosen_;
};

/// Adds columns that are shown on request by their names, separated by commas. kUsage.
Result<void> parse_columns(std::string_view names, ColumnChoice& choice);

/// What filters of processes compare: by ProcessColumn.
std::span<const Column> process_filter_columns();

/// Parses a filter of these. kUsage also for an unknown status, with the known ones.
Result<RowFilter> parse_filter(std::string_view argument);
/// The column that a filter looks at; nullopt: any.
std::optional<ProcessColumn> column_of(const RowFilter& filter);

/// What processes are sorted by: amounts largest first, texts and pids ascending, unless it is the
/// other way round.
struct ProcessOrder {
    ProcessColumn by = ProcessColumn::kMemory;
    bool reversed = false;
};
inline constexpr std::size_t kMostSortColumns = 3;
/// Parses COLUMN[,-COLUMN...]. kUsage, also for more than kMostSortColumns.
Result<std::vector<ProcessOrder>> parse_sort(std::string_view names);

/// The columns of filters and orders that are not in the index of a dump: they are read of all
/// processes.
ColumnChoice read_columns(const std::vector<RowFilter>& filters,
                          std::span<const ProcessOrder> orders, const DumpForm& form);

}  // namespace beamdump::query
