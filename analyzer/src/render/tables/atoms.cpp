#include "render/tables/atoms.h"

#include "render/shared/json.h"
#include "render/shared/layout.h"
#include "render/shared/row_list.h"
#include "render/shared/units.h"

#include <fmt/format.h>

namespace beamdump::render {

namespace {

constexpr RowListTexts kGroupTexts = {"beamdump.atoms/1", "groups", "groups"};
constexpr RowListTexts kEachTexts = {"beamdump.atoms/1", "atoms", "atoms"};

const RowListTexts& texts_of(query::AtomRows rows) {
    return rows == query::AtomRows::kEach ? kEachTexts : kGroupTexts;
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? "-"
                      : fmt::format("{:.1f}%",
                                    100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

void print_count(Output& output, const query::AtomCounts& counts) {
    std::string line = counts.count ? counted(*counts.count, "atom") : "an unknown number of atoms";
    if (counts.limit) {
        line += fmt::format(" of at most {}{}", count_text(*counts.limit),
                            counts.limit_is_default ? " (the default)" : "");
        line += counts.count ? fmt::format(", {}", share_text(*counts.count, *counts.limit)) : "";
    }
    if (counts.absent_because) {
        output.print("{}; their texts are unknown: {}\n", line, *counts.absent_because);
        return;
    }
    if (counts.count.value_or(0) != counts.named) {
        line += fmt::format("; the dump has the text of {}", count_text(counts.named));
    }
    line += fmt::format("; {} of text", bytes_text(counts.text_bytes));
    output.print("{}\n", line);
    if (!counts.in_order) {
        output.write(
            "a crash dump does not tell in which order they were created: \"newest\" is any of "
            "them\n");
    }
    output.write("\n");
}

}  // namespace

void atoms_text(Output& output, query::AtomsAnswer& answer, const query::DumpFacts& facts,
                query::AtomRows rows) {
    const auto& counts = answer.counts;
    const bool grouped = !answer.list.group_by().empty();
    if (counts.absent_because || (counts.matching == 0 && !grouped)) {
        print_layout_notice(output, facts.layout);
        print_count(output, counts);
        if (!counts.absent_because) {
            output.write("no atom matches\n");
        }
        return;
    }
    if (grouped) {
        row_groups(output, answer.list, facts, texts_of(rows), query::atom_sort(rows), false);
        return;
    }
    RowListExtras extras;
    extras.text_before = [&](Output& out) { print_count(out, counts); };
    extras.text_after = [&](Output& out) {
        if (counts.ungrouped != 0) {
            out.print("{} in further groups, not told apart\n",
                      counted(counts.ungrouped, "older atom"));
        }
    };
    rows_text(output, answer.list, facts, texts_of(rows), extras);
}

void atoms_json(Output& output, query::AtomsAnswer& answer, const query::DumpFacts& facts,
                query::AtomRows rows) {
    const auto& counts = answer.counts;
    const auto& texts = texts_of(rows);
    if (!answer.list.group_by().empty()) {
        row_groups(output, answer.list, facts, texts, query::atom_sort(rows), true);
        return;
    }
    JsonWriter json(output, texts.schema);
    write_dump(json, "dump", facts);
    json.member("count", counts.count);
    json.member("limit", counts.limit);
    if (counts.limit) {
        json.member("limit_from", counts.limit_is_default ? "default" : "command_line");
    }
    const bool known = !counts.absent_because;
    if (known) {
        json.member("named", counts.named);
        json.member("text_bytes", counts.text_bytes);
    }
    json.member("absent_because", counts.absent_because);
    json.member("in_order_of_creation", counts.in_order);
    if (known) {
        json.member("matching", counts.matching);
    }
    if (known && rows == query::AtomRows::kGroups) {
        json.member("group_count", answer.list.matching());
        json.member("ungrouped", counts.ungrouped);
    }
    row_array_json(json, answer.list, texts);
    json.finish();
}

}  // namespace beamdump::render
