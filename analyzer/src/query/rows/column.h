#pragma once

#include <cstddef>
#include <cstdint>
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

/// Bytes of memory that a row takes.
std::uint64_t row_bytes(const Row& row);

/// Sets a cell where the dump has its value.
template <typename Value>
void set_if(Row& row, std::size_t place, bool has, Value value) {
    if (has) {
        row[place] = std::move(value);
    }
}

/// kText, kId (a number that is a name, as an OS pid), kCountIfAny, kBytesIfAny: not all things
/// have one; it is absent where there is none. The others are absent where the dump does not tell
/// them. kSpan: a number that has no sum, as time left. kTenths: of a percent. kAddress: a number,
/// in hexadecimal digits.
enum class ColumnKind : std::uint8_t {
    kText,
    kTextOfAll,
    kId,
    kCount,
    kCountIfAny,
    kSpan,
    kBytes,
    kBytesIfAny,
    kTenths,
    kAddress,
    kFlag
};

/// Whether an absent cell may say that there is none.
constexpr bool may_be_none(ColumnKind kind) {
    return kind == ColumnKind::kText || kind == ColumnKind::kId ||
           kind == ColumnKind::kCountIfAny || kind == ColumnKind::kBytesIfAny;
}
/// Whether exports have a text.
constexpr bool is_text(ColumnKind kind) {
    return kind == ColumnKind::kText || kind == ColumnKind::kTextOfAll ||
           kind == ColumnKind::kAddress;
}
constexpr bool is_bytes(ColumnKind kind) {
    return kind == ColumnKind::kBytes || kind == ColumnKind::kBytesIfAny;
}
/// Whether the cells of several rows have a sum.
constexpr bool is_amount(ColumnKind kind) {
    return is_bytes(kind) || kind == ColumnKind::kCount || kind == ColumnKind::kCountIfAny;
}

/// A column of a list of things that are alike: ports, tables, modules...
struct Column {
    std::string_view name;        ///< in --columns, --sort, --filter, JSON and exports
    std::string_view title = {};  ///< in the head of the text; without one, shown only if asked for
    ColumnKind kind = ColumnKind::kText;
    bool shrinks = false;  ///< may be cut to fit a terminal
    /// Computed from another column and the processes: not exported.
    bool derived = false;
    std::string_view also = {};      ///< a second name in --columns, --sort and --filter
    std::string_view sentence = {};  ///< what it is, for the JSON Schema
    std::string_view one_of = {};    ///< the texts that it may be, a space between each two
    std::uint64_t minimum = 0;       ///< of a number
    bool exported = true;            ///< unless derived
    bool in_json = true;             ///< otherwise of the text only
    /// Filled after the others, as RowList::derive() says, like those that are derived.
    bool late = false;
};

/// The place of a column in the rows; that behind the last where none has this name.
std::size_t column_place(std::span<const Column> columns, std::string_view name);

/// The names of columns, for messages.
std::vector<std::string_view> column_names(std::span<const Column> columns);

/// Those that exports have.
constexpr bool is_exported(const Column& column) {
    return column.exported && !column.derived;
}
std::vector<Column> exported_columns(std::span<const Column> columns);

/// A cell as JSON has it, of which filters find parts: a number in decimal, true or false; empty
/// where it is absent.
std::string cell_text(const Cell& cell);
/// A cell as JSON has it, with addresses in hexadecimal digits.
std::string cell_text(const Column& column, const Cell& cell);

/// The address that such a text is: 0x and hexadecimal digits.
std::optional<std::uint64_t> address_of(std::string_view text);

/// A cell as exports have it: the text of an address.
Cell exported_cell(const Column& column, const Cell& cell);

}  // namespace beamdump::query
