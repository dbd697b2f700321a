#include <libdump/base/return_if_error.h>
#include <libdump/format/process_row.h>
#include <libdump/model/process_index.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace beamdump {

namespace {

using Column = records::ProcessColumnKind;
constexpr int kColumns = records::ProcessColumnKind_MAX + 1;

/// The rows of a truncated dump, found by walking it; null for a complete one.
const std::vector<records::ProcessRow>* recovered_rows(DumpReader& reader) {
    const RecoveredIndex* recovered = reader.recovered();
    return recovered == nullptr ? nullptr : &recovered->processes;
}

}  // namespace

ProcessIndex::ProcessIndex(DumpReader& reader) : reader_(reader) {
    if (const auto* rows = recovered_rows(reader)) {
        rows_ = rows->size();
        return;
    }
    for (const auto& ref : reader.trailer().process_pages()) {
        // A row takes a byte or more of its owner's column.
        const std::uint64_t rows = std::min(ref.rows(), reader.flat_bytes());
        pages_.push_back({rows_, rows, {ref.column_offset().begin(), ref.column_offset().end()}});
        rows_ += rows;
    }
}

Result<std::vector<std::uint64_t>> ProcessIndex::read_column(const Page& page, Column column) {
    const auto place = static_cast<std::size_t>(column);
    if (place >= page.column_offset.size() || page.column_offset[place] == 0) {
        return std::vector<std::uint64_t>{};
    }
    auto record = reader_.message_at<records::ProcessColumn>(page.column_offset[place],
                                                             format::RecordKind::kProcessColumn);
    if (!record) {
        return wrap("reading the process index", std::move(record.error()));
    }
    if (record->column() != column ||
        static_cast<std::uint64_t>(record->value_plus_one_size()) != page.rows) {
        return fail(
            ErrorCode::kCorrupt,
            fmt::format("the process index page at offset {} of the dump has column {} with {} "
                        "rows, expected column {} with {} rows",
                        page.column_offset[place], static_cast<int>(record->column()),
                        record->value_plus_one_size(), static_cast<int>(column), page.rows));
    }
    return std::vector<std::uint64_t>(record->value_plus_one().begin(),
                                      record->value_plus_one().end());
}

Result<void> ProcessIndex::visit_page(const Page& page, std::span<const Column> columns,
                                      const Visit& visit, bool& go_on) {
    std::vector<std::vector<std::uint64_t>> read;
    for (const Column column : columns) {
        ASSIGN_OR_RETURN(auto values, read_column(page, column));
        read.push_back(std::move(values));
    }
    std::vector<std::optional<std::uint64_t>> values(columns.size());
    for (std::uint64_t row = 0; row < page.rows && go_on; ++row) {
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const std::uint64_t plus_one = read[i].empty() ? 0 : read[i][row];
            values[i] = plus_one == 0 ? std::nullopt : std::optional(plus_one - 1);
        }
        go_on = visit(page.first_row + row, values);
    }
    return {};
}

Result<void> ProcessIndex::visit(std::span<const Column> columns, const Visit& visit) {
    if (const auto* rows = recovered_rows(reader_)) {
        std::vector<std::optional<std::uint64_t>> values(columns.size());
        for (std::size_t row = 0; row < rows->size(); ++row) {
            std::ranges::transform(columns, values.begin(), [&](Column column) {
                return column_value((*rows)[row], column);
            });
            if (!visit(row, values)) {
                break;
            }
        }
        return {};
    }
    bool go_on = true;
    for (const Page& page : pages_) {
        if (auto done = visit_page(page, columns, visit, go_on); !done || !go_on) {
            return done;
        }
    }
    return {};
}

Result<void> ProcessIndex::fill_rows(const Page& page, std::span<const std::uint64_t> numbers,
                                     std::span<const std::size_t> order,
                                     std::vector<records::ProcessRow>& into) {
    for (int column = 1; column < kColumns; ++column) {
        const auto kind = static_cast<Column>(column);
        ASSIGN_OR_RETURN(auto values, read_column(page, kind));
        for (const std::size_t place : order) {
            const std::uint64_t row = numbers[place] - page.first_row;
            if (!values.empty() && (values)[row] != 0) {
                set_column(into[place], kind, (values)[row] - 1);
            }
        }
    }
    return {};
}

Result<std::vector<records::ProcessRow>> ProcessIndex::rows(
    std::span<const std::uint64_t> numbers) {
    for (const std::uint64_t number : numbers) {
        if (number >= rows_) {
            return fail(
                ErrorCode::kNotFound,
                fmt::format("the dump has {} processes, so none with number {}", rows_, number));
        }
    }
    std::vector<records::ProcessRow> result(numbers.size());
    if (const auto* rows = recovered_rows(reader_)) {
        std::ranges::transform(numbers, result.begin(),
                               [rows](std::uint64_t number) { return (*rows)[number]; });
        return result;
    }
    std::vector<std::size_t> order(numbers.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [numbers](std::size_t place) { return numbers[place]; });
    std::span<const std::size_t> left(order);
    for (const Page& page : pages_) {
        const auto beyond = std::ranges::find_if(
            left, [&](std::size_t place) { return numbers[place] >= page.first_row + page.rows; });
        const auto count = static_cast<std::size_t>(beyond - left.begin());
        if (count > 0) {
            RETURN_IF_ERROR(fill_rows(page, numbers, left.first(count), result));
            left = left.subspan(count);
        }
    }
    return result;
}

Result<std::optional<std::uint64_t>> ProcessIndex::find(Column column, std::uint64_t value) {
    std::optional<std::uint64_t> found;
    auto done = visit(std::span(&column, 1), [&](std::uint64_t row, Values values) {
        if (values[0] == value) {
            found = row;
        }
        return !found;
    });
    if (!done) {
        return std::unexpected(done.error());
    }
    return found;
}

}  // namespace beamdump
