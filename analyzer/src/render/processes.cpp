#include "render/processes.h"

#include "render/shared/json.h"
#include "render/shared/known.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

namespace beamdump::render {

namespace {

constexpr std::string_view kAbsentCell = "?";

std::string number_cell(const std::optional<std::uint64_t>& number) {
    return number ? count_text(*number) : std::string(kAbsentCell);
}

std::string status_cell(const query::ProcessLine& line) {
    std::string text = line.status.value_or(std::string(kAbsentCell));
    if (line.void_reason) {
        text += " (void)";
    }
    return text;
}

/// Of amounts "1.5 KiB", of tables "1.5 KiB in 2", or 0 where there is nothing.
std::string amount_cell(const query::ListedColumn& column, const query::ProcessLine& line,
                        std::uint64_t word_bytes) {
    const auto& amount = line.*column.amount;
    if (column.asked.kind == query::ColumnKind::kCount) {
        return number_cell(amount);
    }
    std::string text = amount ? bytes_text(*amount * (column.in_words ? word_bytes : 1))
                              : std::string(kAbsentCell);
    if (column.count != nullptr && line.*column.count) {
        const std::uint64_t count = *(line.*column.count);
        text = count == 0 ? "0" : fmt::format("{} in {}", text, count_text(count));
    }
    return text;
}

std::string process_cell(const query::ListedColumn& column, const query::ProcessLine& line,
                         std::uint64_t word_bytes) {
    using query::ProcessColumn;
    const auto text = [](const std::optional<std::string>& known) {
        return one_line(known.value_or(std::string(kAbsentCell)));
    };
    switch (column.column) {
        case ProcessColumn::kPid:
            return line.pid;
        case ProcessColumn::kName:
            return process_name(line);
        case ProcessColumn::kStatus:
            return status_cell(line);
        case ProcessColumn::kCurrentFunction:
            return text(query::shown_function(line));
        default:
            return column.amount != nullptr ? amount_cell(column, line, word_bytes)
                                            : text(line.*column.text);
    }
}

}  // namespace

std::string process_name(const query::ProcessLine& line) {
    const auto name = query::shown_name(line);
    return name ? one_line(*name) : std::string(kAbsentCell);
}

void print_memory_notice(Output& output, const query::DumpFacts& facts, std::string_view which) {
    if (facts.memory_of_heaps) {
        output.print(
            "{}memory of processes: stack, heap, old heap and heap fragments only; the crash dump "
            "has no more\n",
            which);
    }
}

void print_process_table(Output& output, std::span<const query::ProcessLine> lines,
                         std::string_view indent) {
    print_process_table(output, lines, {}, 0, indent);
}

void print_process_table(Output& output, std::span<const query::ProcessLine> lines,
                         const query::ColumnChoice& columns, std::uint64_t word_bytes,
                         std::string_view indent) {
    std::vector<const query::ListedColumn*> shown;
    std::vector<Table::Column> heads;
    for (const auto& column : query::listed_columns()) {
        if (column.shown == query::Shown::kAlways ||
            (column.shown == query::Shown::kOnRequest && columns.has(column.column))) {
            shown.push_back(&column);
            heads.push_back({std::string(column.asked.title),
                             column.amount != nullptr ? Align::kRight : Align::kLeft,
                             column.asked.shrinks});
        }
    }
    Table table(std::move(heads));
    for (const query::ProcessLine& line : lines) {
        std::vector<std::string> row;
        row.reserve(shown.size());
        for (const auto* const column : shown) {
            row.push_back(process_cell(*column, line, word_bytes));
        }
        table.add(std::move(row));
    }
    table.print(output, indent);
}

Result<void> processes_text(Output& output, query::ProcessListing& listing,
                            const query::DumpFacts& facts) {
    print_layout_notice(output, facts.layout);
    print_memory_notice(output, facts);
    while (output.ok()) {
        ASSIGN_OR_RETURN(auto lines, listing.next());
        if (lines.empty()) {
            break;
        }
        print_process_table(output, lines, listing.columns(), facts.word_bytes);
    }
    print_rest(output, listing.shown(), listing.matching());
    if (listing.matching() == 0) {
        print_none(output, facts, listing.total(), "processes");
    } else if (query::may_lack_some(facts, "proc")) {
        output.print("at least {}: the crash dump breaks off before the end of their sections\n",
                     counted(listing.total(), "process", "processes"));
    }
    return {};
}

Result<void> processes_json(Output& output, query::ProcessListing& listing,
                            const query::DumpFacts& facts) {
    JsonWriter json(output, "beamdump.processes/1");
    write_dump(json, "dump", facts);
    write_totals(json, facts, listing.total(), listing.matching());
    json.begin_array("processes");
    while (output.ok()) {
        ASSIGN_OR_RETURN(auto lines, listing.next());
        if (lines.empty()) {
            break;
        }
        for (const query::ProcessLine& line : lines) {
            json.begin_object();
            write_process_members(json, line);
            json.end_object();
        }
    }
    json.end_array();
    json.finish();
    return {};
}

}  // namespace beamdump::render
