#pragma once

#include "query/rows/row_list.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>
#include <libdump/model/dump.h>
#include <libdump/term/term_context.h>
#include <libdump/term/term_scheme.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::sql {

/// What of one thing could not be told, while others were: its messages are withheld, its rows were
/// not captured.
struct LeftOut {
    std::uint64_t things = 0;
    std::string first;  ///< a sentence about the first one
};

/// An open dump, and its file as the user named it.
struct Source {
    Dump* dump = nullptr;  // non-owning
    std::string file;
    InputLimits limits = {};
    bool sensitive = false;  ///< also terms of processes that are flagged sensitive
    /// What the rows of the statement's tables that are held take together. Non-owning; the
    /// question has it.
    Budget* memory = nullptr;
};

/// What a statement needs of a table: rows beyond it may be given, and are filtered out.
struct Request {
    std::vector<query::Cell> arguments = {};  ///< of a table of something: messages of a process
    /// Filters of the table's columns (query/rows/row_filter.h); all hold for the rows needed.
    std::vector<std::string> filters = {};
    std::uint64_t limit = 0;  ///< rows; 0: all
    /// The order of the rows wanted, as RowQuery::sort has it; empty: any. With a limit, the first
    /// ones of that order are needed, in any order.
    std::string sort = {};
    /// Those of the columns that are filled late (Column::late) which are asked for.
    std::vector<std::string_view> late = {};

    [[nodiscard]] bool asks_late(std::string_view column) const {
        return std::ranges::find(late, column) != late.end();
    }
};

/// The term of a row, and what it is read through.
struct TermAtHand {
    TermContext* context = nullptr;  // non-owning
    TagScheme scheme;
    std::uint64_t word = 0;
};

/// Rows one after the other.
class Rows {
  public:
    Rows() = default;
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;
    virtual ~Rows() = default;

    /// False after the last row.
    virtual Result<bool> next(query::Row& row) = 0;
    /// After the last row: why others are missing, if they are.
    [[nodiscard]] virtual std::string missing() const { return {}; }
    /// Where the row is that next() gave last.
    [[nodiscard]] virtual std::uint64_t place() const { return 0; }
    /// The term of the row at a place, until the next call of any of these: of the last row without
    /// another look, of others near it with little. kNotFound: it cannot be looked into.
    virtual Result<TermAtHand> term_at(std::uint64_t /*place*/) {
        return fail(ErrorCode::kNotFound, "rows of this table are no terms");
    }
};

/// A table of a dump: things of one kind, or what belongs to one thing.
struct Table {
    std::string_view name;
    std::string_view sentence;                    ///< what a row is
    std::span<const query::Column> columns;       ///< outlive the table
    std::span<const std::string_view> arguments;  ///< columns that must be given; none: all things
    bool reads_terms = false;                     ///< of a crash dump: heaps are converted
    /// kNotFound: the dump has none, or not of the thing that is named.
    Result<std::unique_ptr<Rows>> (*open)(const Source& source, const Request& request) = nullptr;
    bool has_terms = false;  ///< each row is a term: Rows::term_at()
    bool orders = false;     ///< Request::sort is heeded
};

/// All tables, in the order of their names.
std::span<const Table> tables();

}  // namespace beamdump::sql
