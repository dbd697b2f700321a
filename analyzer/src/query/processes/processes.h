#pragma once

#include "query/facts/dump_facts.h"
#include "query/processes/process_values.h"

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

struct ProcessQuery {
    std::vector<ProcessOrder> sort = {ProcessOrder()};  ///< one to kMostSortColumns
    std::vector<RowFilter> filters;                     ///< all must match
    std::uint64_t limit = 20;                           ///< 0: all
    ColumnChoice columns = {};                          ///< that is shown besides
    bool names = false;          ///< also those in dictionaries, of the processes shown
    ReadProgress progress = {};  ///< of reading processes for these columns
};

/// The selected processes in order, in batches. Only the columns that sorting and filtering need
/// are read for all processes. Memory: 16 bytes for each process that matches, 8 more for each
/// further column to sort by, at most twice `limit` of them, and one batch; what ProcessValues
/// takes for what was read of processes.
class ProcessListing {
  public:
    /// kNotFound where the dump does not tell of any process what they are to be sorted by; memory,
    /// by which they are sorted where nothing is asked for, is no error. kNotFound also where a
    /// column needs tables, which the dump does not have.
    static Result<ProcessListing> select(Dump& dump, const ProcessQuery& query);

    [[nodiscard]] std::uint64_t total() const { return total_; }  ///< in the dump
    [[nodiscard]] std::uint64_t matching() const { return matching_; }
    [[nodiscard]] std::uint64_t shown() const { return rows_.size(); }
    [[nodiscard]] const ColumnChoice& columns() const { return choice_; }
    /// The column of a filter that let nothing pass because the dump does not tell it of any
    /// process that the filter looked at; empty: there is none.
    [[nodiscard]] const std::string& untold() const { return untold_; }
    /// Processes that were read for columns.
    [[nodiscard]] const std::optional<ProcessesRead>& read() const { return values_.read(); }

    static constexpr std::size_t kMostLines = 65'536;

    /// The next lines, at most `most` and kMostLines; empty at the end.
    Result<std::vector<ProcessLine>> next(std::size_t most = kMostLines);

  private:
    ProcessListing(Dump& dump, const ProcessQuery& query, const ColumnChoice& columns)
        : dump_(&dump),
          choice_(columns),
          values_(dump, columns, query.progress),
          names_(query.names) {}

    Dump* dump_;  // non-owning
    ColumnChoice choice_;
    ProcessValues values_;
    bool names_;
    // What sorting or filtering needed was read of all processes.
    bool processes_are_read_ = false;
    bool applications_are_read_ = false;
    std::vector<std::uint64_t> rows_;
    std::uint64_t total_ = 0;
    std::uint64_t matching_ = 0;
    std::string untold_;
    std::size_t given_ = 0;
};

}  // namespace beamdump::query
