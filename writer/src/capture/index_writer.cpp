#include "capture/index_writer.h"

#include <algorithm>
#include <optional>

namespace beamdump::capture {
namespace {

constexpr std::size_t kRowsOfAPage = 4096;
constexpr std::size_t kTopRows = 20;

using Value = std::optional<std::uint64_t>;

Value known(bool has, std::uint64_t value) {
    return has ? Value(value) : std::nullopt;
}

Value mfa_part(bool has, const records::Mfa& mfa, std::uint32_t (records::Mfa::*part)() const) {
    return has ? Value((mfa.*part)()) : std::nullopt;
}

/// One column's value of a row.
Value column(const records::ProcessRow& row, records::ProcessColumnKind kind) {
    using records::Mfa;
    const bool initial = row.has_initial_call();
    const bool current = row.has_current_function();
    switch (kind) {
        case records::PROCESS_COLUMN_OWNER_ID:
            return known(row.has_owner_id(), row.owner_id());
        case records::PROCESS_COLUMN_BEGIN_OFFSET:
            return known(row.has_begin_offset(), row.begin_offset());
        case records::PROCESS_COLUMN_END_OFFSET:
            return known(row.has_end_offset(), row.end_offset());
        case records::PROCESS_COLUMN_VOID_REASON:
            return known(row.has_void_reason(), static_cast<std::uint64_t>(row.void_reason()));
        case records::PROCESS_COLUMN_MEMORY_BYTES:
            return known(row.has_memory_bytes(), row.memory_bytes());
        case records::PROCESS_COLUMN_REDUCTIONS:
            return known(row.has_reductions(), row.reductions());
        case records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH:
            return known(row.has_message_queue_length(), row.message_queue_length());
        case records::PROCESS_COLUMN_REGISTERED_NAME:
            return known(row.has_registered_name_atom(), row.registered_name_atom());
        case records::PROCESS_COLUMN_INITIAL_MODULE:
            return mfa_part(initial, row.initial_call(), &Mfa::module_atom);
        case records::PROCESS_COLUMN_INITIAL_FUNCTION:
            return mfa_part(initial, row.initial_call(), &Mfa::function_atom);
        case records::PROCESS_COLUMN_INITIAL_ARITY:
            return mfa_part(initial, row.initial_call(), &Mfa::arity);
        case records::PROCESS_COLUMN_CURRENT_MODULE:
            return mfa_part(current, row.current_function(), &Mfa::module_atom);
        case records::PROCESS_COLUMN_CURRENT_FUNCTION:
            return mfa_part(current, row.current_function(), &Mfa::function_atom);
        case records::PROCESS_COLUMN_CURRENT_ARITY:
            return mfa_part(current, row.current_function(), &Mfa::arity);
        case records::PROCESS_COLUMN_STATUS:
            return known(row.has_status(), static_cast<std::uint64_t>(row.status()));
        case records::PROCESS_COLUMN_HEAP_WORDS:
            return known(row.has_heap_words(), row.heap_words());
        case records::PROCESS_COLUMN_STACK_WORDS:
            return known(row.has_stack_words(), row.stack_words());
        default:
            return std::nullopt;
    }
}

}  // namespace

void IndexWriter::place(Top& top, const records::ProcessRow& row) {
    const auto value = column(row, top.by);
    if (!value || *value == 0) {
        return;
    }
    const auto at = std::ranges::find_if(top.rows, [&](const records::ProcessRow& other) {
        return column(other, top.by).value_or(0) < *value;
    });
    if (at == top.rows.end() && top.rows.size() >= kTopRows) {
        return;
    }
    top.rows.insert(at, row);
    if (top.rows.size() > kTopRows) {
        top.rows.pop_back();
    }
}

Result<void> IndexWriter::add(const records::ProcessRow& row) {
    for (auto& top : tops_) {
        place(top, row);
    }
    totals_.set_processes(totals_.processes() + 1);
    totals_.set_process_memory_bytes(totals_.process_memory_bytes() + row.memory_bytes());
    totals_.set_heap_words(totals_.heap_words() + row.heap_words());
    totals_.set_messages(totals_.messages() + row.message_queue_length());
    totals_.set_reductions(totals_.reductions() + row.reductions());
    const auto reason = static_cast<int>(row.void_reason());
    while (totals_.void_by_reason_size() <= reason) {
        totals_.add_void_by_reason(0);
    }
    totals_.set_void_by_reason(reason, totals_.void_by_reason(reason) + 1);
    totals_.set_processes_void(totals_.processes_void() +
                               (reason != records::VOID_REASON_NONE ? 1 : 0));
    rows_.push_back(row);
    return rows_.size() < kRowsOfAPage ? Result<void>() : flush();
}

Result<void> IndexWriter::flush() {
    if (rows_.empty()) {
        return {};
    }
    auto& page = pages_.emplace_back();
    page.set_first_row(first_row_);
    page.set_rows(rows_.size());
    page.mutable_column_offset()->Resize(records::ProcessColumnKind_ARRAYSIZE, 0);
    for (int kind = records::PROCESS_COLUMN_OWNER_ID; kind < records::ProcessColumnKind_ARRAYSIZE;
         ++kind) {
        const auto which = static_cast<records::ProcessColumnKind>(kind);
        records::ProcessColumn values;
        values.set_first_row(first_row_);
        values.set_column(which);
        for (const auto& row : rows_) {
            const auto value = column(row, which);
            values.add_value_plus_one(value ? *value + 1 : 0);
        }
        auto offset = writer_.append(format::RecordKind::kProcessColumn, values);
        if (!offset) {
            return std::unexpected(offset.error());
        }
        page.set_column_offset(kind, *offset);
    }
    first_row_ += rows_.size();
    rows_.clear();
    return {};
}

Result<void> IndexWriter::finish(records::Trailer& trailer) {
    if (auto done = flush(); !done) {
        return done;
    }
    for (const auto& page : pages_) {
        *trailer.add_process_pages() = page;
    }
    for (const auto& top : tops_) {
        auto& list = *trailer.add_top();
        list.set_by(top.by);
        list.mutable_row()->Add(top.rows.begin(), top.rows.end());
    }
    return {};
}

}  // namespace beamdump::capture
