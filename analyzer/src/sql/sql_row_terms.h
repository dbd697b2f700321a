#pragma once

#include "query/term/path_finder.h"
#include "sql/sql_question.h"
#include "sql/sql_table.h"

#include <libdump/base/error.h>
#include <libdump/term/term_printer.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace beamdump::sql {

/// What a function of a row's term gives, or why it gives nothing.
struct RowValue {
    Value value;
    std::string no_part = {};  ///< the term has no such part: a sentence
};

/// What terms of rows are looked into with, which are read through one context.
class TermTools {
  public:
    explicit TermTools(const TermAtHand& term)
        : context_(term.context),
          scheme_(term.scheme),
          finder_(*term.context, term.scheme),
          printer_(*term.context, term.scheme) {}

    [[nodiscard]] bool fit(const TermAtHand& term) const { return term.context == context_; }
    /// Before another row: its words may be at the same addresses.
    void forget() {
        finder_.forget();
        printer_.forget();
    }
    [[nodiscard]] const TagScheme& scheme() const { return scheme_; }
    [[nodiscard]] query::PathFinder& finder() { return finder_; }
    [[nodiscard]] TermPrinter& printer() { return printer_; }

  private:
    TermContext* context_;  // non-owning
    TagScheme scheme_;
    query::PathFinder finder_;
    TermPrinter printer_;
};

/// A function of the term of a row: NAME(value, ...).
struct RowFunction {
    std::string_view name;
    std::string_view arguments;  ///< behind `value`: "path", "[path]"
    std::string_view sentence;   ///< what it gives
    /// kUsage: wrong arguments.
    Result<RowValue> (*call)(const Source& source, TermTools& tools, std::uint64_t word,
                             std::span<const Value> arguments) = nullptr;
    std::size_t least = 0;  ///< arguments behind `value`
    std::size_t most = 0;
};

/// All of them, in the order of their names.
std::span<const RowFunction> row_functions();

}  // namespace beamdump::sql
