#include "render/shared/row_list.h"

#include "render/shared/json.h"
#include "render/shared/known.h"
#include "render/shared/layout.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>

#include <algorithm>

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

bool is_number(const query::Column& column) {
    return column.kind != query::ColumnKind::kText && column.kind != query::ColumnKind::kFlag;
}

/// Where the filters leave nothing.
void print_why_none(Output& output, const query::RowList& list, const query::DumpFacts& facts,
                    const RowListTexts& texts) {
    if (list.matching() == 0) {
        print_none(output, facts, list.total(), texts.things);
        if (const auto others = list.matching_in_other_case(); others != 0) {
            output.print("ignoring case, {} would match\n", count_text(others));
        }
    }
}

/// The columns that some group has a sum of.
std::vector<std::size_t> summed_columns(const std::vector<query::RowGroup>& groups) {
    std::vector<std::size_t> columns;
    const auto all = groups.empty() ? 0 : groups.front().sums.size();
    for (std::size_t column = 0; column < all; ++column) {
        if (std::ranges::any_of(groups, [&](const query::RowGroup& group) {
                return !std::holds_alternative<std::monostate>(group.sums[column]);
            })) {
            columns.push_back(column);
        }
    }
    return columns;
}

}  // namespace

void row_groups_text(Output& output, query::RowList& list, const query::DumpFacts& facts,
                     const RowListTexts& texts, std::string_view default_sort) {
    print_layout_notice(output, facts.layout);
    const auto all = list.group_count();
    const auto groups = list.take_groups(default_sort);
    const auto sums = summed_columns(groups);
    const Marks marks(facts.layout);
    const auto title = [&](std::size_t column) {
        const auto& of = list.columns()[column];
        std::string text(of.title.empty() ? of.name : of.title);
        std::ranges::transform(text, text.begin(), [](char c) {
            return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        });
        return text;
    };
    const auto cell = [&](std::size_t column, const query::Cell& value) {
        const auto& of = list.columns()[column];
        return marks(fmt::format("{}.{}", texts.member, of.name), shown(of, value));
    };
    std::vector<Table::Column> head;
    for (const auto column : list.group_by()) {
        head.push_back({title(column),
                        is_number(list.columns()[column]) ? Align::kRight : Align::kLeft, true});
    }
    head.push_back({"COUNT", Align::kRight});
    for (const auto column : sums) {
        head.push_back({title(column), Align::kRight});
    }
    Table table(std::move(head));
    for (const auto& group : groups) {
        std::vector<std::string> cells;
        cells.reserve(group.values.size() + 1 + sums.size());
        for (std::size_t at = 0; at < group.values.size(); ++at) {
            cells.push_back(cell(list.group_by()[at], group.values[at]));
        }
        cells.push_back(count_text(group.count));
        for (const auto column : sums) {
            cells.push_back(cell(column, group.sums[column]));
        }
        table.add(std::move(cells));
    }
    if (!groups.empty()) {
        table.print(output);
    }
    print_rest(output, groups.size(), all);
    print_why_none(output, list, facts, texts);
}

void row_groups_json(Output& output, query::RowList& list, const query::DumpFacts& facts,
                     const RowListTexts& texts, std::string_view default_sort) {
    JsonWriter json(output, "beamdump.groups/1");
    write_dump(json, "dump", facts);
    json.member("of", texts.member);
    json.begin_array("group_by");
    for (const auto column : list.group_by()) {
        json.value(list.columns()[column].name);
    }
    json.end_array();
    write_totals(json, facts, list.total(), list.matching());
    if (query::known_total(facts, list.total())) {
        json.member("group_count", list.group_count());
    }
    write_objects(
        json, "groups", list.take_groups(default_sort), [&](const query::RowGroup& group) {
            json.begin_object("values");
            for (std::size_t at = 0; at < group.values.size(); ++at) {
                write_cell(json, list.columns()[list.group_by()[at]].name, group.values[at]);
            }
            json.end_object();
            json.member("count", group.count);
            json.begin_object("sums");
            for (std::size_t at = 0; at < group.sums.size(); ++at) {
                write_cell(json, list.columns()[at].name, group.sums[at]);
            }
            json.end_object();
        });
    json.finish();
}

void rows_text(Output& output, query::RowList& list, const query::DumpFacts& facts,
               const RowListTexts& texts) {
    print_layout_notice(output, facts.layout);
    std::vector<Table::Column> head;
    for (const auto& column : list.columns()) {
        if (!column.title.empty()) {
            head.push_back({std::string(column.title),
                            is_number(column) ? Align::kRight : Align::kLeft, column.shrinks});
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
    if (!texts.section.empty() && list.total() != 0 && query::may_lack_some(facts, texts.section)) {
        output.print(
            "{}: at least {}; the crash dump breaks off before the end of their sections\n",
            texts.things, count_text(list.total()));
    }
    print_why_none(output, list, facts, texts);
}

void rows_json(Output& output, query::RowList& list, const query::DumpFacts& facts,
               const RowListTexts& texts) {
    rows_and_more_json(output, list, facts, texts, [](JsonWriter&) {});
}

void rows_and_more_json(Output& output, query::RowList& list, const query::DumpFacts& facts,
                        const RowListTexts& texts, const std::function<void(JsonWriter&)>& more) {
    JsonWriter json(output, texts.schema);
    write_dump(json, "dump", facts);
    write_totals(json, facts, list.total(), list.matching());
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
