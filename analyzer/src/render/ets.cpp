#include "render/ets.h"

#include "render/shared/json.h"
#include "render/shared/layout.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

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
        const auto owner = line.owner_name ? cell(line.owner) + " " + one_line(*line.owner_name)
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
    if (listing.tables.size() < listing.matching) {
        output.print("{} more; --limit 0 shows all\n",
                     count_text(listing.matching - listing.tables.size()));
    } else if (listing.matching == 0) {
        output.print("none of {} ETS tables matches\n", count_text(listing.total));
    }
    if (listing.memory_bytes && listing.total != 0) {
        output.print("\n{} use {}\n", counted(listing.total, "ETS table"),
                     marks("ets.memory_bytes", bytes_text(*listing.memory_bytes)));
    }
}

void ets_json(Output& output, const query::EtsListing& listing, const query::DumpFacts& facts) {
    JsonWriter json(output, "beamdump.ets/1");
    write_dump(json, "dump", facts);
    json.member("total", listing.total);
    json.member("total_memory_bytes", listing.memory_bytes);
    json.member("matching", listing.matching);
    write_objects(json, "tables", listing.tables, [&](const query::EtsTableLine& line) {
        write_table(json, line, facts.word_bytes == 0 ? kEtsWordBytes : facts.word_bytes);
    });
    json.finish();
}

}  // namespace beamdump::render
