#include "render/shared/row_list.h"

#include "render/shared/json.h"
#include "render/shared/layout.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>

namespace beamdump::render {

namespace {

std::string shown(const query::Column& column, const query::Cell& cell) {
    if (const auto* flag = std::get_if<bool>(&cell)) {
        return *flag ? "yes" : "";
    }
    if (const auto* number = std::get_if<std::uint64_t>(&cell)) {
        switch (column.kind) {
            case query::ColumnKind::kBytes:
            case query::ColumnKind::kBytesIfAny:
                return bytes_text(*number);
            case query::ColumnKind::kId:
                return std::to_string(*number);
            default:
                return count_text(*number);
        }
    }
    if (const auto* text = std::get_if<std::string>(&cell)) {
        return one_line(*text);
    }
    const bool may_be_none = column.kind == query::ColumnKind::kText ||
                             column.kind == query::ColumnKind::kId ||
                             column.kind == query::ColumnKind::kCountIfAny ||
                             column.kind == query::ColumnKind::kBytesIfAny;
    return may_be_none ? "" : "?";
}

void write_cell(JsonWriter& json, std::string_view name, const query::Cell& cell) {
    std::visit(
        [&](const auto& value) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
                json.member(name, value);
            }
        },
        cell);
}

}  // namespace

void rows_text(Output& output, query::RowList& list, const query::DumpFacts& facts,
               const RowListTexts& texts) {
    print_layout_notice(output, facts.layout);
    std::vector<Table::Column> head;
    for (const auto& column : list.columns()) {
        if (!column.title.empty()) {
            const bool number =
                column.kind != query::ColumnKind::kText && column.kind != query::ColumnKind::kFlag;
            head.push_back(
                {std::string(column.title), number ? Align::kRight : Align::kLeft, column.shrinks});
        }
    }
    Table table(std::move(head));
    const auto rows = list.take();
    const Marks marks(facts.layout);
    for (const auto& row : rows) {
        std::vector<std::string> cells;
        for (std::size_t at = 0; at < row.size(); ++at) {
            const auto& column = list.columns()[at];
            if (!column.title.empty()) {
                cells.push_back(
                    marks(fmt::format("{}.{}", texts.member, column.name), shown(column, row[at])));
            }
        }
        table.add(std::move(cells));
    }
    if (!rows.empty()) {
        table.print(output);
    }
    if (!list.counts().empty()) {
        std::string counts;
        for (const auto& [text, count] : list.counts()) {
            counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count_text(count), text);
        }
        output.print("{}\n", one_line(counts));
    }
    print_rest(output, rows.size(), list.matching());
    if (list.total() == 0 && facts.text_complete == false) {
        output.print("no {} before the place where the crash dump breaks off\n", texts.things);
    } else if (list.matching() == 0) {
        output.print("none of {} {} matches\n", count_text(list.total()), texts.things);
    }
}

void rows_json(Output& output, query::RowList& list, const query::DumpFacts& facts,
               const RowListTexts& texts) {
    rows_and_more_json(output, list, facts, texts, [](JsonWriter&) {});
}

void rows_and_more_json(Output& output, query::RowList& list, const query::DumpFacts& facts,
                        const RowListTexts& texts, const std::function<void(JsonWriter&)>& more) {
    JsonWriter json(output, texts.schema);
    write_dump(json, "dump", facts);
    json.member("total", list.total());
    json.member("matching", list.matching());
    write_objects(json, texts.member, list.take(), [&](const query::Row& row) {
        for (std::size_t at = 0; at < row.size(); ++at) {
            write_cell(json, list.columns()[at].name, row[at]);
        }
    });
    if (!list.counts().empty()) {
        write_objects(json, "counts", list.counts(), [&](const auto& counted) {
            json.member("of", counted.first);
            json.member("count", counted.second);
        });
    }
    more(json);
    json.finish();
}

}  // namespace beamdump::render
