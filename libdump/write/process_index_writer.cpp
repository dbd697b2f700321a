#include <libdump/base/return_if_error.h>
#include <libdump/format/process_row.h>
#include <libdump/write/process_index_writer.h>

#include <algorithm>

namespace beamdump {
namespace {

constexpr std::uint64_t kRowsOfAPage = 4096;
constexpr int kFirstColumn = records::PROCESS_COLUMN_OWNER_ID;
constexpr std::size_t kTopRows = 20;

}  // namespace

void ProcessIndexWriter::place(Top& top, const records::ProcessRow& row, std::uint64_t value) {
    const auto value_of = [&top](const records::ProcessRow& other) {
        return column_value(other, top.by).value_or(0);
    };
    const auto at = std::ranges::find_if(
        top.rows, [&](const records::ProcessRow& other) { return value_of(other) < value; });
    top.rows.insert(at, row);
    if (top.rows.size() > kTopRows) {
        top.rows.pop_back();
    }
    top.least = top.rows.size() < kTopRows ? 0 : value_of(top.rows.back());
}

Result<void> ProcessIndexWriter::add(const records::ProcessRow& row) {
    for (int kind = kFirstColumn; kind < records::ProcessColumnKind_ARRAYSIZE; ++kind) {
        const auto value = column_value(row, static_cast<records::ProcessColumnKind>(kind));
        columns_.at(static_cast<std::size_t>(kind)).add_value_plus_one(value ? *value + 1 : 0);
    }
    for (auto& top : tops_) {
        if (const auto value = column_value(row, top.by).value_or(0); value > top.least) {
            place(top, row, value);
        }
    }
    add_to_totals(row, totals_);
    ++rows_;
    return rows_ < kRowsOfAPage ? Result<void>() : flush();
}

Result<void> ProcessIndexWriter::flush() {
    if (rows_ == 0) {
        return {};
    }
    auto& page = pages_.emplace_back();
    page.set_first_row(first_row_);
    page.set_rows(rows_);
    page.mutable_column_offset()->Resize(records::ProcessColumnKind_ARRAYSIZE, 0);
    for (int kind = kFirstColumn; kind < records::ProcessColumnKind_ARRAYSIZE; ++kind) {
        auto& values = columns_.at(static_cast<std::size_t>(kind));
        values.set_first_row(first_row_);
        values.set_column(static_cast<records::ProcessColumnKind>(kind));
        ASSIGN_OR_RETURN(auto offset, writer_.append(format::RecordKind::kProcessColumn, values));
        page.set_column_offset(kind, offset);
        values.Clear();
    }
    first_row_ += rows_;
    rows_ = 0;
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
