#include "query/rows/column.h"

#include <libdump/base/hexadecimal.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace beamdump::query {

std::uint64_t row_bytes(const Row& row) {
    constexpr std::size_t kSmallText = 15;  // what a string has without memory of its own
    std::uint64_t bytes = sizeof(Row) + row.capacity() * sizeof(Cell);
    for (const Cell& cell : row) {
        const auto* text = std::get_if<std::string>(&cell);
        bytes += text != nullptr && text->capacity() > kSmallText ? text->capacity() : 0;
    }
    return bytes;
}

std::size_t column_place(std::span<const Column> columns, std::string_view name) {
    const auto found = std::ranges::find_if(columns, [name](const Column& column) {
        return column.name == name || (!column.also.empty() && column.also == name);
    });
    return static_cast<std::size_t>(found - columns.begin());
}

std::vector<std::string_view> column_names(std::span<const Column> columns) {
    std::vector<std::string_view> names(columns.size());
    std::ranges::transform(columns, names.begin(), &Column::name);
    return names;
}

std::vector<Column> exported_columns(std::span<const Column> columns) {
    std::vector<Column> kept;
    std::ranges::copy_if(columns, std::back_inserter(kept), is_exported);
    return kept;
}

std::string cell_text(const Cell& cell) {
    if (const auto* text = std::get_if<std::string>(&cell)) {
        return *text;
    }
    if (const auto* number = std::get_if<std::uint64_t>(&cell)) {
        return std::to_string(*number);
    }
    if (const auto* flag = std::get_if<bool>(&cell)) {
        return *flag ? "true" : "false";
    }
    return {};
}

std::string cell_text(const Column& column, const Cell& cell) {
    const auto* number = std::get_if<std::uint64_t>(&cell);
    return number != nullptr && column.kind == ColumnKind::kAddress ? fmt::format("{:#x}", *number)
                                                                    : cell_text(cell);
}

std::optional<std::uint64_t> address_of(std::string_view text) {
    return text.starts_with("0x") ? hexadecimal_number(text.substr(2)) : std::nullopt;
}

Cell exported_cell(const Column& column, const Cell& cell) {
    return column.kind == ColumnKind::kAddress && !std::holds_alternative<std::monostate>(cell)
               ? Cell(cell_text(column, cell))
               : cell;
}

}  // namespace beamdump::query
