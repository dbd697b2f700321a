#include "render/shared/row_list.h"

#include "render/shared/json.h"
#include "render/shared/known.h"
#include "render/shared/layout.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <libdump/term/pointer_text.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::render {

namespace {

std::string shown(const query::DumpFacts& facts, const query::Column& column,
                  const query::Cell& cell) {
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
            case query::ColumnKind::kTenths:
                return tenths_text(*number);
            case query::ColumnKind::kAddress:
                return std::string(pointer_text(*number).view());
            default:
                return count_text(*number);
        }
    }
    if (const auto* text = std::get_if<std::string>(&cell)) {
        return one_line(facts.names.shown(*text));
    }
    return query::may_be_none(column.kind) ? "" : "?";
}

void write_row_cell(JsonWriter& json, const query::Column& column, const query::Cell& cell) {
    write_cell(json, column, query::view_of(cell));
}

bool is_number(const query::Column& column) {
    return !query::is_text(column.kind) && column.kind != query::ColumnKind::kFlag;
}

/// In the head of the text.
std::string title_text(const query::Column& column) {
    std::string text(column.title.empty() ? column.name : column.title);
    std::ranges::transform(text, text.begin(), [](char c) {
        return c == '_' ? ' ' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    return text;
}

Table::Column head_of(const query::Column& column, bool shrinks) {
    return {title_text(column), is_number(column) ? Align::kRight : Align::kLeft, shrinks};
}

/// Where the filters leave nothing.
void print_why_none(Output& output, const query::RowList& list, const query::DumpFacts& facts,
                    const RowListTexts& texts) {
    if (list.matching() == 0) {
        print_none(output, facts, list.total(), texts.things);
        if (const auto others = list.matching_in_other_case(); others != 0) {
            output.print("ignoring case, {} would match\n", count_text(others));
        } else if (const auto anywhere = list.matching_anywhere(); anywhere != 0) {
            output.print("= is for a whole value; ~ finds {} with it as a part\n",
                         counted(anywhere, texts.things, texts.things));
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

/// The table alone.
void row_table_text(Output& output, query::RowList& list, const query::DumpFacts& facts,
                    const RowListTexts& texts, const RowListExtras& extras) {
    std::vector<Table::Column> head;
    for (const auto column : list.shown()) {
        head.push_back(head_of(list.columns()[column], list.columns()[column].shrinks));
    }
    Table table(std::move(head));
    const auto add = [&](const query::Row& row) {
        std::vector<std::string> cells;
        for (const auto column : list.shown()) {
            cells.push_back(shown(facts, list.columns()[column], row[column]));
        }
        table.add(std::move(cells));
    };
    const auto rows = list.take();
    std::ranges::for_each(rows, add);
    if (extras.total && list.matching() > 1) {
        add(*extras.total);
    }
    if (!rows.empty()) {
        table.print(output);
    }
    if (!list.counts().empty()) {
        std::string counts;
        for (const auto& [text, count] : list.counts()) {
            counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count_text(count),
                                  facts.names.shown(text));
        }
        output.print("{}: {}\n", texts.things, one_line(counts));
    }
    print_rest(output, rows.size(), list.matching());
}

void row_groups_text(Output& output, query::RowList& list, const query::DumpFacts& facts,
                     const RowListTexts& texts, std::string_view default_sort) {
    print_layout_notice(output, facts.layout);
    const auto all = list.group_count();
    const auto groups = list.take_groups(default_sort);
    const auto sums = summed_columns(groups);
    const auto cell = [&](std::size_t column, const query::Cell& value) {
        return shown(facts, list.columns()[column], value);
    };
    std::vector<Table::Column> head;
    for (const auto column : list.group_by()) {
        head.push_back(head_of(list.columns()[column], true));
    }
    head.push_back({"COUNT", Align::kRight});
    for (const auto column : sums) {
        head.push_back({title_text(list.columns()[column]), Align::kRight});
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
                write_row_cell(json, list.columns()[list.group_by()[at]], group.values[at]);
            }
            json.end_object();
            json.member("count", group.count);
            json.begin_object("sums");
            for (std::size_t at = 0; at < group.sums.size(); ++at) {
                write_row_cell(json, list.columns()[at], group.sums[at]);
            }
            json.end_object();
        });
    json.finish();
}

}  // namespace

void row_groups(Output& output, query::RowList& list, const query::DumpFacts& facts,
                const RowListTexts& texts, std::string_view default_sort, bool json) {
    const auto render = json ? row_groups_json : row_groups_text;
    render(output, list, facts, texts, default_sort);
}

void rows_text(Output& output, query::RowList& list, const query::DumpFacts& facts,
               const RowListTexts& texts, const RowListExtras& extras) {
    print_layout_notice(output, facts.layout);
    if (extras.text_before) {
        extras.text_before(output);
    }
    row_table_text(output, list, facts, texts, extras);
    if (!extras.text_after && !texts.section.empty() && list.total() != 0 &&
        query::may_lack_some(facts, texts.section)) {
        output.print(
            "{}: at least {}; the crash dump breaks off before the end of their sections\n",
            texts.things, count_text(list.total()));
    }
    print_why_none(output, list, facts, texts);
    if (extras.text_after) {
        extras.text_after(output);
    }
}

void row_members_json(JsonWriter& json, std::span<const query::Column> columns,
                      const query::Row& row) {
    for (std::size_t at = 0; at < row.size(); ++at) {
        if (columns[at].in_json) {
            write_row_cell(json, columns[at], row[at]);
        }
    }
}

void row_array_json(JsonWriter& json, query::RowList& list, const RowListTexts& texts,
                    const RowListExtras& extras) {
    write_objects(json, texts.member, list.take(), [&](const query::Row& row) {
        row_members_json(json, list.columns(), row);
        if (extras.json_row) {
            extras.json_row(json, row);
        }
    });
}

void rows_json(Output& output, query::RowList& list, const query::DumpFacts& facts,
               const RowListTexts& texts, const RowListExtras& extras) {
    JsonWriter json(output, texts.schema);
    write_dump(json, "dump", facts);
    write_totals(json, facts, list.total(), list.matching());
    if (extras.json_before) {
        extras.json_before(json);
    }
    row_array_json(json, list, texts, extras);
    if (!list.counts().empty()) {
        write_objects(json, "counts", list.counts(), [&](const auto& counted) {
            json.member("of", counted.first);
            json.member("count", counted.second);
        });
    }
    if (extras.json_after) {
        extras.json_after(json);
    }
    json.finish();
}

}  // namespace beamdump::render
