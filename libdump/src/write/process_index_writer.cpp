#include <libdump/base/return_if_error.h>
#include <libdump/format/process_row.h>
#include <libdump/write/process_index_writer.h>

#include <algorithm>

namespace beamdump {
namespace {

constexpr std::size_t kRowsOfAPage = 4096;
constexpr std::size_t kTopRows = 20;

}  // namespace

void ProcessIndexWriter::place(Top& top, const records::ProcessRow& row) {
    const auto value = column_value(row, top.by);
    const auto value_of = [&top](const records::ProcessRow& other) {
        return column_value(other, top.by).value_or(0);
    };
    const bool full = top.rows.size() >= kTopRows;
    if (!value || *value == 0 || (full && value_of(top.rows.back()) >= *value)) {
        return;
    }
    const auto at = std::ranges::find_if(
        top.rows, [&](const records::ProcessRow& other) { return value_of(other) < *value; });
    top.rows.insert(at, row);
    if (top.rows.size() > kTopRows) {
        top.rows.pop_back();
    }
}

Result<void> ProcessIndexWriter::add(const records::ProcessRow& row) {
    for (auto& top : tops_) {
        place(top, row);
    }
    add_to_totals(row, totals_);
    rows_.push_back(row);
    return rows_.size() < kRowsOfAPage ? Result<void>() : flush();
}

Result<void> ProcessIndexWriter::flush() {
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
            const auto value = column_value(row, which);
            values.add_value_plus_one(value ? *value + 1 : 0);
        }
        ASSIGN_OR_RETURN(auto offset, writer_.append(format::RecordKind::kProcessColumn, values));
        page.set_column_offset(kind, offset);
    }
    first_row_ += rows_.size();
    rows_.clear();
    return {};
}

Result<void> ProcessIndexWriter::finish(records::Trailer& trailer) {
    RETURN_IF_ERROR(flush());
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

}  // namespace beamdump
