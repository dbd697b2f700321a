#include <libdump/model/process_index.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace beamdump {

namespace {

using Column = records::ProcessColumnKind;
constexpr int kColumns = records::ProcessColumnKind_MAX + 1;

template <typename Value>
std::optional<std::uint64_t> known(bool has, Value value) {
    return has ? std::optional(static_cast<std::uint64_t>(value)) : std::nullopt;
}

/// The rows of a cut dump, found by walking it; null for a whole one.
const std::vector<records::ProcessRow>* recovered_rows(DumpReader& reader) {
    const RecoveredIndex* recovered = reader.recovered();
    return recovered == nullptr ? nullptr : &recovered->processes;
}

}  // namespace

std::optional<std::uint64_t> column_value(const records::ProcessRow& row, Column column) {
    const records::Mfa& initial = row.initial_call();
    const records::Mfa& current = row.current_function();
    switch (column) {
        case records::PROCESS_COLUMN_OWNER_ID:
            return known(row.has_owner_id(), row.owner_id());
        case records::PROCESS_COLUMN_BEGIN_OFFSET:
            return known(row.has_begin_offset(), row.begin_offset());
        case records::PROCESS_COLUMN_END_OFFSET:
            return known(row.has_end_offset(), row.end_offset());
        case records::PROCESS_COLUMN_VOID_REASON:
            return known(row.has_void_reason(), row.void_reason());
        case records::PROCESS_COLUMN_MEMORY_BYTES:
            return known(row.has_memory_bytes(), row.memory_bytes());
        case records::PROCESS_COLUMN_REDUCTIONS:
            return known(row.has_reductions(), row.reductions());
        case records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH:
            return known(row.has_message_queue_length(), row.message_queue_length());
        case records::PROCESS_COLUMN_REGISTERED_NAME:
            return known(row.has_registered_name_atom(), row.registered_name_atom());
        case records::PROCESS_COLUMN_INITIAL_MODULE:
            return known(initial.has_module_atom(), initial.module_atom());
        case records::PROCESS_COLUMN_INITIAL_FUNCTION:
            return known(initial.has_function_atom(), initial.function_atom());
        case records::PROCESS_COLUMN_INITIAL_ARITY:
            return known(initial.has_arity(), initial.arity());
        case records::PROCESS_COLUMN_CURRENT_MODULE:
            return known(current.has_module_atom(), current.module_atom());
        case records::PROCESS_COLUMN_CURRENT_FUNCTION:
            return known(current.has_function_atom(), current.function_atom());
        case records::PROCESS_COLUMN_CURRENT_ARITY:
            return known(current.has_arity(), current.arity());
        case records::PROCESS_COLUMN_STATUS:
            return known(row.has_status(), row.status());
        case records::PROCESS_COLUMN_HEAP_WORDS:
            return known(row.has_heap_words(), row.heap_words());
        case records::PROCESS_COLUMN_STACK_WORDS:
            return known(row.has_stack_words(), row.stack_words());
        default:
            return std::nullopt;
    }
}

void set_column(records::ProcessRow& row, Column column, std::uint64_t value) {
    const auto small = static_cast<std::uint32_t>(value);
    switch (column) {
        case records::PROCESS_COLUMN_OWNER_ID:
            row.set_owner_id(value);
            break;
        case records::PROCESS_COLUMN_BEGIN_OFFSET:
            row.set_begin_offset(value);
            break;
        case records::PROCESS_COLUMN_END_OFFSET:
            row.set_end_offset(value);
            break;
        case records::PROCESS_COLUMN_VOID_REASON:
            if (records::VoidReason_IsValid(static_cast<int>(value))) {
                row.set_void_reason(static_cast<records::VoidReason>(value));
            }
            break;
        case records::PROCESS_COLUMN_MEMORY_BYTES:
            row.set_memory_bytes(value);
            break;
        case records::PROCESS_COLUMN_REDUCTIONS:
            row.set_reductions(value);
            break;
        case records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH:
            row.set_message_queue_length(value);
            break;
        case records::PROCESS_COLUMN_REGISTERED_NAME:
            row.set_registered_name_atom(small);
            break;
        case records::PROCESS_COLUMN_INITIAL_MODULE:
            row.mutable_initial_call()->set_module_atom(small);
            break;
        case records::PROCESS_COLUMN_INITIAL_FUNCTION:
            row.mutable_initial_call()->set_function_atom(small);
            break;
        case records::PROCESS_COLUMN_INITIAL_ARITY:
            row.mutable_initial_call()->set_arity(small);
            break;
        case records::PROCESS_COLUMN_CURRENT_MODULE:
            row.mutable_current_function()->set_module_atom(small);
            break;
        case records::PROCESS_COLUMN_CURRENT_FUNCTION:
            row.mutable_current_function()->set_function_atom(small);
            break;
        case records::PROCESS_COLUMN_CURRENT_ARITY:
            row.mutable_current_function()->set_arity(small);
            break;
        case records::PROCESS_COLUMN_STATUS:
            if (records::ProcessStatus_IsValid(static_cast<int>(value))) {
                row.set_status(static_cast<records::ProcessStatus>(value));
            }
            break;
        case records::PROCESS_COLUMN_HEAP_WORDS:
            row.set_heap_words(value);
            break;
        case records::PROCESS_COLUMN_STACK_WORDS:
            row.set_stack_words(value);
            break;
        default:
            break;
    }
}

ProcessIndex::ProcessIndex(DumpReader& reader) : reader_(reader) {
    if (const auto* rows = recovered_rows(reader)) {
        rows_ = rows->size();
        return;
    }
    for (const auto& ref : reader.trailer().process_pages()) {
        pages_.push_back(
            {rows_, ref.rows(), {ref.column_offset().begin(), ref.column_offset().end()}});
        rows_ += ref.rows();
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
            fmt::format("the process index page at offset {} of the dump holds column {} "
                        "with {} rows where column {} with {} rows should stand",
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
        auto values = read_column(page, column);
        if (!values) {
            return std::unexpected(values.error());
        }
        read.push_back(std::move(*values));
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
        auto values = read_column(page, kind);
        if (!values) {
            return std::unexpected(values.error());
        }
        for (const std::size_t place : order) {
            const std::uint64_t row = numbers[place] - page.first_row;
            if (!values->empty() && (*values)[row] != 0) {
                set_column(into[place], kind, (*values)[row] - 1);
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
            if (auto done = fill_rows(page, numbers, left.first(count), result); !done) {
                return std::unexpected(done.error());
            }
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
