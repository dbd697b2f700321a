#include "render/ets.h"

#include "query/tables/ets_row_groups.h"
#include "render/node/memory.h"
#include "render/shared/json.h"
#include "render/shared/known.h"
#include "render/shared/layout.h"
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

constexpr std::uint64_t kEtsWordBytes = 8;

std::string cell(const std::optional<std::string>& text) {
    return one_line(text.value_or("?"));
}

/// What is out of the ordinary, in the words of ets:new/2.
std::string options_cell(const query::EtsTableLine& table) {
    std::string text;
    const auto add = [&text](std::string_view word) {
        text += text.empty() ? "" : ", ";
        text += word;
    };
    if (table.write_concurrency && *table.write_concurrency != "false") {
        add(*table.write_concurrency == "true" ? std::string("write_concurrency")
                                               : "write_concurrency " + *table.write_concurrency);
    }
    const std::pair<std::optional<bool>, std::string_view> flags[] = {
        {table.read_concurrency, "read_concurrency"},
        {table.decentralized_counters, "decentralized_counters"},
        {table.compressed, "compressed"},
        {table.fixed, "fixed"}};
    for (const auto& [flag, word] : flags) {
        if (flag.value_or(false)) {
            add(word);
        }
    }
    return text;
}

void write_table(JsonWriter& json, const query::EtsTableLine& table, std::uint64_t word_bytes) {
    json.member("id", table.id);
    json.member("name", table.name);
    json.member("named_table", table.named_table);
    json.member("type", table.type);
    json.member("owner", table.owner);
    json.member("owner_name", table.owner_name);
    json.member("owner_display_name", table.owner_display_name);
    json.member("heir", table.heir);
    json.member("keypos", table.keypos);
    json.member("protection", table.protection);
    json.member("size", table.size);
    if (table.memory_bytes) {
        json.member("memory_words", (*table.memory_bytes + word_bytes - 1) / word_bytes);
    }
    json.member("memory_bytes", table.memory_bytes);
    json.member("read_concurrency", table.read_concurrency);
    json.member("write_concurrency", table.write_concurrency);
    json.member("decentralized_counters", table.decentralized_counters);
    json.member("compressed", table.compressed);
    json.member("fixed", table.fixed);
    json.member("ca_tree", table.ca_tree);
}

}  // namespace

void ets_text(Output& output, const query::EtsListing& listing, const query::DumpFacts& facts) {
    print_layout_notice(output, facts.layout);
    const Marks marks(facts.layout);
    Table table({{"NAME", Align::kLeft, true},
                 {"TYPE"},
                 {"ROWS", Align::kRight},
                 {"MEMORY", Align::kRight},
                 {"PROTECTION"},
                 {"OWNER", Align::kLeft, true},
                 {"ID"},
                 {"OPTIONS", Align::kLeft, true}});
    for (const auto& line : listing.tables) {
        const auto owner = line.owner_display_name
                               ? cell(line.owner) + " " + one_line(*line.owner_display_name)
                               : cell(line.owner);
        const auto id =
            line.named_table.value_or(false) && !line.id ? std::string("-") : cell(line.id);
        table.add({marks("ets.name", cell(line.name)), marks("ets.type", cell(line.type)),
                   marks("ets.size", line.size ? count_text(*line.size) : std::string("?")),
                   marks("ets.memory_bytes",
                         line.memory_bytes ? bytes_text(*line.memory_bytes) : std::string("?")),
                   marks("ets.protection", cell(line.protection)), marks("ets.owner", owner),
                   marks("ets.id", id),
                   marks({"ets.write_concurrency", "ets.read_concurrency",
                          "ets.decentralized_counters", "ets.compressed", "ets.fixed"},
                         options_cell(line))});
    }
    if (!listing.tables.empty()) {
        table.print(output);
    }
    print_rest(output, listing.tables.size(), listing.matching);
    if (listing.matching == 0) {
        print_none(output, facts, listing.total, "ETS tables");
    }
    if (listing.memory_bytes && listing.total != 0) {
        output.print("\n{}{} use {}\n", at_least(facts, "ets"), counted(listing.total, "ETS table"),
                     marks("ets.memory_bytes", bytes_text(*listing.memory_bytes)));
    }
}

void ets_json(Output& output, const query::EtsListing& listing, const query::DumpFacts& facts) {
    JsonWriter json(output, "beamdump.ets/1");
    write_dump(json, "dump", facts);
    write_totals(json, facts, listing.total, listing.matching);
    json.member("total_memory_bytes", listing.memory_bytes);
    write_objects(json, "tables", listing.tables, [&](const query::EtsTableLine& line) {
        write_table(json, line, facts.word_bytes == 0 ? kEtsWordBytes : facts.word_bytes);
    });
    json.finish();
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
void print_sample(Output& output, const query::EtsRowSample& sample, const Marks& marks) {
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
            table.add({marks("ets.rows", one_line(query::cell_text(group.values.front()))),
                       count_text(group.count), part_share_text(group.count, sample.rows),
                       marks("ets.rows", words_text(group))});
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
    const Marks marks(facts.layout);
    const auto& table = listing.table();
    const auto& counts = listing.counts();
    output.print("{}  {}\n", marks("ets.name", cell(table.name)), marks("ets.id", cell(table.id)));
    output.print("{} captured", counted(counts.captured, "row"));
    if (counts.counted) {
        output.print(" of {}", count_text(*counts.counted));
    }
    output.print("\n");
    for (const auto& text : missing_rows(counts)) {
        output.print("{}\n", text);
    }
    // The rows that can be read are shown even where others cannot.
    if (const auto sample = query::sample_ets_rows(listing); !sample) {
        output.print("no sample of the rows: {}\n", one_line(sample.error().message));
    } else if (*sample) {
        print_sample(output, **sample, marks);
    }
    std::uint64_t shown = 0;
    RETURN_IF_ERROR(listing.each([&](const query::EtsRowLine& row) {
        if (shown++ == 0) {
            output.print("\n{:>10}  ROW\n", "WORDS");
        }
        const auto head = fmt::format("{:>10}  ", count_text(row.words));
        if (output.line_width() || !row.row.more) {
            print_line(output, head + marks("ets.rows", term_line(row.row)));
        } else {
            output.print("{}{}", head, marks.mark({"ets.rows"}));
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
    write_table(json, listing.table(), facts.word_bytes == 0 ? kEtsWordBytes : facts.word_bytes);
    json.end_object();
    const auto& counts = listing.counts();
    json.member("captured", counts.captured);
    json.member("counted", counts.counted);
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
