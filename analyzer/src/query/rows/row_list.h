#pragma once

#include "query/rows/column.h"
#include "query/rows/row_filter.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>
#include <libdump/base/first_items.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beamdump::query {

struct RowQuery {
    std::string sort;                  ///< COLUMN[,-COLUMN...]; with - the other way round
    std::vector<std::string> filters;  ///< as RowFilter::parse() takes them; all must match
    std::uint64_t limit = 20;          ///< 0: all
    std::string_view counted_by = {};  ///< a column of few different texts; empty: none
    /// Columns whose values the rows of a group have in common; empty: no groups.
    std::vector<std::string> group_by = {};
    bool derived = true;  ///< fill derived columns
    /// Any rows that match will do: what is listed may end with the limit (RowList::is_full()).
    bool any = false;
    /// What the rows in memory are counted against; null: nothing. Where they exceed it, no further
    /// one is kept: it has Budget::memory_exceeded() then. Non-owning.
    Budget* memory = nullptr;
    /// COLUMN[,COLUMN...]: those that the text shows; empty: those with a title.
    std::string columns = {};
};

/// Rows that have the same values in the columns grouped by.
struct RowGroup {
    Row values;  ///< of these columns, in the order asked for
    std::uint64_t count = 0;
    /// By column of the list: the sum of a number of things or bytes; absent where no row has it.
    Row sums;
};

/// Collects the rows that a question asks for. Amounts and flags sort largest first, texts,
/// ids and addresses ascending, absent cells last, also the other way round; equal rows stay in the
/// order in which they were added. Memory: twice `limit` rows, or all groups; all rows where the
/// question is about a derived column.
class RowList {
  public:
    /// `columns` must outlive the list. kUsage, with the columns' names, for an unknown one.
    static Result<RowList> make(std::span<const Column> columns, const RowQuery& query);

    /// One cell for each column. That of a derived or late column is absent.
    void add(Row row);

    /// Rows that are held now, for take() or derive().
    [[nodiscard]] std::size_t rows_in_memory() const { return held_.size() + kept_.items().size(); }

    /// Bytes of them, where RowQuery::memory counts them.
    [[nodiscard]] std::uint64_t memory() const { return bytes_; }

    /// Whether no further row is needed.
    [[nodiscard]] bool is_full() const {
        return (any_ && limit_ != 0 && matching_ >= limit_) || out_of_memory();
    }
    /// Whether a row passes the filters.
    [[nodiscard]] bool passes(const Row& row) const { return matches(row, Case::kMatters); }

    /// Fills the derived or late column of rows that were added: of all where the question sorts,
    /// filters or groups by it, which are held until then; else only of those that take() returns.
    /// To be called once, after the last row, if there is such a column.
    using Derive = std::function<Result<void>(std::span<Row* const> rows)>;
    [[nodiscard]] Result<void> derive(const Derive& fill);

    /// kNotFound where the dump tells of no row what they are to be sorted by, or what a filter
    /// looks for: a number or a flag that is not known. `default_sort` is not asked for.
    [[nodiscard]] Result<void> check_asked(std::string_view things,
                                           std::string_view default_sort) const;

    [[nodiscard]] std::span<const Column> columns() const { return columns_; }
    [[nodiscard]] std::uint64_t total() const { return total_; }        ///< rows added
    [[nodiscard]] std::uint64_t matching() const { return matching_; }  ///< that pass the filters
    /// Where no row passes the filters, those that would if case were ignored.
    [[nodiscard]] std::uint64_t matching_in_other_case() const { return in_other_case_; }
    /// ... and those of which some field has each value as a part.
    [[nodiscard]] std::uint64_t matching_anywhere() const { return anywhere_; }
    /// How many rows that pass the filters have each text in the column to count by.
    [[nodiscard]] const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
    /// The first `limit` rows, in order; none where groups were asked for.
    [[nodiscard]] std::vector<Row> take();
    /// The columns that the text shows.
    [[nodiscard]] std::span<const std::size_t> shown() const { return shown_; }
    /// The sum of an amount over all rows, or those that pass the filters. Absent: not known of
    /// each.
    [[nodiscard]] std::optional<std::uint64_t> sum_of_all(std::string_view column) const;
    [[nodiscard]] std::optional<std::uint64_t> sum_of_matching(std::string_view column) const;
    /// The columns grouped by; empty: none.
    [[nodiscard]] std::span<const std::size_t> group_by() const { return group_by_; }
    [[nodiscard]] std::uint64_t group_count() const { return groups_.size(); }
    /// The first `limit` groups, by the sum of the first column that is sorted by where it is a
    /// number of things or bytes and the sort not the default, else by how many rows they have.
    [[nodiscard]] std::vector<RowGroup> take_groups(std::string_view default_sort);

  private:
    struct SortKey {
        std::size_t column = 0;
        bool reversed = false;
    };
    struct Kept {
        Row row;
        std::uint64_t number = 0;
    };
    struct Order {
        std::vector<SortKey> keys;
        bool operator()(const Kept& one, const Kept& other) const;
    };

    RowList(std::span<const Column> columns, const RowQuery& query)
        : columns_(columns),
          sort_(query.sort),
          limit_(query.limit),
          budget_(query.memory),
          kept_(query.limit, {}),
          told_(columns.size()),
          sums_of_all_(columns.size(), 0),
          sums_of_matching_(columns.size(), 0) {}
    Result<void> parse_sort();
    Result<void> choose_columns(std::string_view names);
    [[nodiscard]] bool matches(const Row& row, Case letters) const;
    [[nodiscard]] bool needs_derived() const;
    void place(Row row);
    [[nodiscard]] bool out_of_memory() const {
        return budget_ != nullptr && budget_->memory_exceeded();
    }
    void count(const Row& row);
    void uncount(const Row& row);
    void add_to_group(const Row& row);

    std::span<const Column> columns_;
    std::string sort_;  ///< as asked for
    std::vector<SortKey> sort_keys_;
    std::uint64_t limit_;
    Budget* budget_;  // non-owning
    std::uint64_t bytes_ = 0;
    FirstItems<Kept, Order> kept_;
    std::vector<RowFilter> filters_;
    std::vector<std::size_t> shown_;
    std::vector<bool> told_;  ///< whether a row has it, by column
    using Sums = std::vector<std::optional<std::uint64_t>>;
    void add_sums(const Row& row, Sums& sums) const;
    Sums sums_of_all_;  ///< by column
    Sums sums_of_matching_;
    bool derives_ = true;
    bool any_ = false;
    bool holds_ = false;  ///< all rows, for their derived column
    std::vector<Row> held_;
    std::optional<std::size_t> counted_by_;
    std::vector<std::size_t> group_by_;
    std::map<Row, RowGroup> groups_;  ///< by their values
    std::map<std::string, std::uint64_t> counts_;
    std::uint64_t total_ = 0;
    std::uint64_t matching_ = 0;
    std::uint64_t in_other_case_ = 0;
    std::uint64_t anywhere_ = 0;
};

}  // namespace beamdump::query
