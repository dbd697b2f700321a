#pragma once

#include "query/rows/column.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::query {

enum class Case : bool { kMatters, kIgnored };

/// How a cell is compared. kHas: a text is part of it, in which `*` stands for any characters.
enum class Comparison : std::uint8_t { kHas, kEqual, kUnequal, kLess, kMore, kAtMost, kAtLeast };

/// `COLUMN=VALUE` with `=`, `!=`, `<`, `>`, `<=`, `>=` or `~` taken apart: the grammar of --filter
/// in all commands.
struct FilterText {
    std::string_view column;  ///< empty: any; the whole argument is the value
    Comparison comparison = Comparison::kHas;
    std::string_view value;
};
FilterText split_filter(std::string_view argument);

/// Whether `pattern` is part of `text`; `*` in it stands for any characters, none too.
bool has_pattern(std::string_view text, std::string_view pattern, Case letters);

/// Whether a text passes: equal, unequal or has it. A module of Elixir is asked for by either form
/// of its name: 'Elixir.Shop.Cart' or Shop.Cart. Texts have no order.
bool text_passes(Comparison comparison, std::string_view text, std::string_view value,
                 Case letters);

/// What a row must have to be shown.
class RowFilter {
  public:
    /// `columns` must outlive the filter. kUsage: no such column, a value that its cells cannot
    /// have, or an order of texts.
    static Result<RowFilter> parse(std::span<const Column> columns, std::string_view argument);

    /// An absent cell passes nothing where the dump does not tell the value. Where there may be
    /// none, it is unequal to all numbers, or an empty text.
    [[nodiscard]] bool passes(const Row& row, Case letters) const;
    /// Whether the text that is asked for as a whole is part of any cell: where `=` lets nothing
    /// pass, `~` may. Other filters: whether the row passes.
    [[nodiscard]] bool is_anywhere(const Row& row) const;

    /// Whether one value of a column of texts, or of numbers, passes.
    [[nodiscard]] bool passes_text(std::string_view text) const {
        return text_passes(comparison_, text, value_, Case::kMatters);
    }
    [[nodiscard]] bool passes_number(std::uint64_t number) const;
    [[nodiscard]] Comparison comparison() const { return comparison_; }
    [[nodiscard]] const std::string& value() const { return value_; }
    /// nullopt: any.
    [[nodiscard]] const std::optional<std::size_t>& column() const { return column_; }

  private:
    [[nodiscard]] bool passes(std::size_t column, const Cell& cell, Case letters) const;

    std::span<const Column> columns_;
    std::optional<std::size_t> column_;
    Comparison comparison_ = Comparison::kHas;
    std::string value_;
    std::uint64_t number_ = 0;  ///< the value, of a column of numbers
};

}  // namespace beamdump::query
