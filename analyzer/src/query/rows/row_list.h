#pragma once

#include <libdump/base/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace beamdump::query {

/// What a list shows in one column of one row: absent where the dump does not have it.
using Cell = std::variant<std::monostate, bool, std::uint64_t, std::string>;
using Row = std::vector<Cell>;

/// Sets a cell where the dump has its value.
template <typename Value>
void set_if(Row& row, std::size_t place, bool has, Value value) {
    if (has) {
        row[place] = std::move(value);
    }
}

/// kId: a number that is a name, as an OS pid. kSpan: one that has no sum, as time left.
/// kCountIfAny, kBytesIfAny: not all things have one. A text, an id or such a number is absent
/// where there is none, another where it is not known.
enum class ColumnKind : std::uint8_t {
    kText,
    kId,
    kCount,
    kCountIfAny,
    kSpan,
    kBytes,
    kBytesIfAny,
    kFlag
};

/// A column of a list of things that are alike: ports, tables, modules...
struct Column {
    std::string_view name;   ///< in --sort, --filter and JSON
    std::string_view title;  ///< in the head of the text; without one, it is in JSON only
    ColumnKind kind = ColumnKind::kText;
    bool shrinks = false;  ///< may be cut to fit a terminal
    /// Computed from another column and the processes: not exported.
    bool derived = false;
};

/// The place of a column in the rows; that behind the last where there is none of this name.
std::size_t column_place(std::span<const Column> columns, std::string_view name);

struct RowQuery {
    std::string sort;                  ///< a column's name
    std::vector<std::string> filters;  ///< TEXT, or COLUMN=TEXT; all must match
    std::uint64_t limit = 20;          ///< 0: all
    std::string_view counted_by = {};  ///< a column of few different texts; empty: none
    /// Columns whose values the rows of a group have in common; empty: no groups.
    std::vector<std::string> group_by = {};
    bool derived = true;  ///< fill derived columns
};

/// Rows that have the same values in the columns grouped by.
struct RowGroup {
    Row values;  ///< of these columns, in the order asked for
    std::uint64_t count = 0;
    /// By column of the list: the sum of a number of things or bytes; absent where no row has it.
    Row sums;
};

/// Collects the rows that a question asks for. Numbers and flags sort largest first, texts
/// ascending, absent cells last; equal rows stay in the order in which they were added. Memory:
/// twice `limit` rows, or all groups; all rows where the question is about a derived column.
class RowList {
  public:
    /// `columns` must outlive the list. kUsage, with the columns' names, for an unknown one.
    static Result<RowList> make(std::span<const Column> columns, const RowQuery& query);

    /// One cell for each column. A derived column's is absent.
    void add(Row row);

    /// Fills the derived column of rows that were added: of all where the question sorts, filters
    /// or groups by it, which are held until then; else only of those that take() returns. To be
    /// called once, after the last row, if there is such a column.
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
    /// How many rows that pass the filters have each text in the column to count by.
    [[nodiscard]] const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
    /// The first `limit` rows, in order; none where groups were asked for.
    [[nodiscard]] std::vector<Row> take();
    /// The columns grouped by; empty: none.
    [[nodiscard]] std::span<const std::size_t> group_by() const { return group_by_; }
    [[nodiscard]] std::uint64_t group_count() const { return groups_.size(); }
    /// The first `limit` groups, by the sum of the column that is sorted by where it is a number of
    /// things or bytes and not the default, else by how many rows they have.
    [[nodiscard]] std::vector<RowGroup> take_groups(std::string_view default_sort);

  private:
    struct Filter {
        std::size_t column = 0;  ///< all where it is the number of columns
        std::string text;
    };
    struct Kept {
        Row row;
        std::uint64_t number = 0;
    };

    RowList(std::span<const Column> columns, std::size_t sort, std::uint64_t limit)
        : columns_(columns), sort_(sort), limit_(limit), told_(columns.size()) {}
    enum class Case : bool { kMatters, kIgnored };
    [[nodiscard]] bool matches(const Row& row, Case letters) const;
    [[nodiscard]] bool needs_derived() const;
    void place(Row row);
    [[nodiscard]] bool before(const Kept& one, const Kept& other) const;
    void cut();
    void add_to_group(const Row& row);

    std::span<const Column> columns_;
    std::size_t sort_;
    std::uint64_t limit_;
    std::vector<Filter> filters_;
    std::vector<bool> told_;  ///< whether a row has it, by column
    bool derives_ = true;
    bool holds_ = false;  ///< all rows, for their derived column
    std::vector<Row> held_;
    std::vector<Kept> kept_;
    std::optional<std::size_t> counted_by_;
    std::vector<std::size_t> group_by_;
    std::map<Row, RowGroup> groups_;  ///< by their values
    std::map<std::string, std::uint64_t> counts_;
    std::uint64_t total_ = 0;
    std::uint64_t matching_ = 0;
    std::uint64_t in_other_case_ = 0;
};

/// A cell as JSON and filters have it: a number in decimal, true or false; empty where it is
/// absent.
std::string cell_text(const Cell& cell);

}  // namespace beamdump::query
