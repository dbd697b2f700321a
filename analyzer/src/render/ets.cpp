#include "render/ets.h"

#include "query/tables/ets_row_groups.h"
#include "render/memory.h"
#include "render/shared/json.h"
#include "render/shared/known.h"
#include "render/shared/layout.h"
#include "render/shared/row_list.h"
#include "render/shared/table.h"
#include "render/shared/term_line.h"
#include "render/shared/units.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <variant>

namespace beamdump::render {
namespace {

std::string cell(const std::optional<std::string>& text) {
    return one_line(text.value_or("?"));
}

constexpr RowListTexts kEtsTexts = {
    .schema = "beamdump.ets/1", .member = "tables", .things = "ETS tables", .section = "ets"};

/// The sum over all tables of the dump; absent where it is not known of each.
std::optional<std::uint64_t> all_memory_bytes(const query::RowList& list,
                                              const query::DumpFacts& facts) {
    // A truncated text without a table tells nothing of them, either.
    return query::known_total(facts, list.total()) ? list.sum_of_all("memory_bytes") : std::nullopt;
}

}  // namespace

void ets_text(Output& output, query::RowList& list, const query::DumpFacts& facts) {
    RowListExtras extras;
    extras.text_after = [&](Output& out) {
        const auto bytes = all_memory_bytes(list, facts);
        if (bytes && list.total() != 0) {
            out.print("\n{}{} {}\n", at_least(facts, "ets"),
                      counted(list.total(), "ETS table uses", "ETS tables use"),
                      bytes_text(*bytes));
        }
    };
    rows_text(output, list, facts, kEtsTexts, extras);
}

void ets_json(Output& output, query::RowList& list, const query::DumpFacts& facts) {
    RowListExtras extras;
    extras.json_before = [&](JsonWriter& json) {
        json.member("total_memory_bytes", all_memory_bytes(list, facts));
    };
    rows_json(output, list, facts, kEtsTexts, extras);
}

namespace {

/// Why rows are missing, a sentence each.
std::vector<std::string> missing_rows(const query::EtsRowCounts& counts) {
    std::vector<std::string> texts;
    const auto add = [&texts](std::uint64_t rows, std::string_view why) {
        if (rows != 0) {
            texts.push_back(fmt::format("{} not captured: {}", counted(rows, "row"), why));
        }
    };
    add(counts.locked, "a process was writing them, or another row under the same lock");
    add(counts.changed, "they kept changing while they were read");
    add(counts.unreadable, "they could not be read");
    if (counts.resized) {
        texts.emplace_back("more rows are missing: the table grew or shrank while it was read");
    }
    if (counts.cut_off) {
        texts.emplace_back("more rows are missing: the limit of time or size was reached");
    }
    if (counts.gone) {
        texts.emplace_back("more rows are missing: the table was deleted meanwhile");
    }
    return texts;
}

constexpr std::string_view kSampleNote = "evenly spread over the table";

std::string words_text(const query::RowGroup& group) {
    const auto words = std::ranges::find_if(group.sums, [](const query::Cell& sum) {
        return std::holds_alternative<std::uint64_t>(sum);
    });
    return words == group.sums.end() ? "?" : count_text(std::get<std::uint64_t>(*words));
}

/// What the rows are like, as a sample of them tells.
void print_sample(Output& output, const query::EtsRowSample& sample) {
    print_title(output, fmt::format("Groups of a sample of {}, {}", counted(sample.rows, "row"),
                                    kSampleNote));
    for (const auto& groups : sample.groups) {
        std::string title(groups.by);
        std::ranges::transform(title, title.begin(),
                               [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
        Table table({{std::move(title), Align::kLeft, true},
                     {"IN SAMPLE", Align::kRight},
                     {"SHARE", Align::kRight},
                     {"WORDS", Align::kRight}});
        for (const auto& group : groups.largest) {
            table.add({one_line(query::cell_text(group.values.front())), count_text(group.count),
                       part_share_text(group.count, sample.rows), words_text(group)});
        }
        table.print(output, "  ");
        if (groups.largest.size() < groups.count) {
            output.print("  and {} more\n", count_text(groups.count - groups.largest.size()));
        }
        output.write("\n");
    }
    output.write("--group-by shape, key or size counts all rows\n");
}

void write_sample(JsonWriter& json, const query::EtsRowSample& sample) {
    json.begin_object("sample");
    json.member("rows", sample.rows);
    json.member("chosen", kSampleNote);
    for (const auto& groups : sample.groups) {
        json.begin_object(fmt::format("by_{}", groups.by));
        json.member("group_count", groups.count);
        write_objects(json, "groups", groups.largest, [&](const query::RowGroup& group) {
            json.member(groups.by, query::cell_text(group.values.front()));
            json.member("count", group.count);
            for (const auto& sum : group.sums) {
                if (const auto* words = std::get_if<std::uint64_t>(&sum)) {
                    json.member("words", *words);
                }
            }
        });
        json.end_object();
    }
    json.end_object();
}

}  // namespace

Result<void> ets_rows_text(Output& output, query::EtsRowListing& listing,
                           const query::DumpFacts& facts) {
    print_layout_notice(output, facts.layout);
    const auto& table = listing.table();
    const auto& counts = listing.counts();
    output.print("{}  {}\n", cell(table.name), cell(table.id));
    output.print("{} captured", counted(counts.captured, "row"));
    if (counts.counted) {
        output.print(" of {}", count_text(*counts.counted));
    }
    output.print("\n");
    if (counts.deleted.value_or(0) != 0) {
        output.print("{} more {} deleted, and kept as long as the table is fixed\n",
                     count_text(*counts.deleted), *counts.deleted == 1 ? "is" : "are");
    }
    for (const auto& text : missing_rows(counts)) {
        output.print("{}\n", text);
    }
    // The rows that can be read are shown even where others cannot.
    if (const auto sample = query::sample_ets_rows(listing); !sample) {
        output.print("no sample of the rows: {}\n", one_line(sample.error().message));
    } else if (*sample) {
        print_sample(output, **sample);
    }
    std::uint64_t shown = 0;
    RETURN_IF_ERROR(listing.each([&](const query::EtsRowLine& row) {
        if (shown++ == 0) {
            output.print("\n{:>10}  ROW\n", "WORDS");
        }
        const auto head = fmt::format("{:>10}  ", count_text(row.words));
        if (output.line_width() || !row.row.more) {
            print_line(output, head + term_line(row.row));
        } else {
            output.write(head);
            put_term_line(output, row.row);
            output.write("\n");
        }
    }));
    print_rest(output, shown, listing.matching());
    if (listing.matching() == 0 && listing.options().key) {
        output.print("no row has the key {}\n", one_line(*listing.options().key));
    }
    return {};
}

Result<void> ets_rows_json(Output& output, query::EtsRowListing& listing,
                           const query::DumpFacts& facts) {
    JsonWriter json(output, "beamdump.ets/1");
    write_dump(json, "dump", facts);
    json.begin_object("table");
    row_members_json(json, query::ets_columns(), query::ets_table_row(listing.table()));
    json.end_object();
    const auto& counts = listing.counts();
    json.member("captured", counts.captured);
    json.member("counted", counts.counted);
    json.member("deleted", counts.deleted);
    json.begin_object("missing");
    json.member("locked", counts.locked);
    json.member("changed", counts.changed);
    json.member("unreadable", counts.unreadable);
    json.member("resized", counts.resized);
    json.member("cut_off", counts.cut_off);
    json.member("gone", counts.gone);
    json.end_object();
    if (const auto sample = query::sample_ets_rows(listing); sample && *sample) {
        write_sample(json, **sample);
    }
    json.begin_array("rows");
    RETURN_IF_ERROR(listing.each([&](const query::EtsRowLine& row) {
        json.begin_object();
        json.member("words", row.words);
        json.member("compressed", row.compressed);
        write_term(json, "row", row.row);
        json.end_object();
    }));
    json.end_array();
    json.member("matching", listing.matching());
    json.member("placeholders", listing.placeholders());
    json.finish();
    return {};
}

}  // namespace beamdump::render
