#include "render/tables/persistent_terms.h"

#include "render/shared/json.h"
#include "render/shared/layout.h"
#include "render/shared/row_list.h"
#include "render/shared/term_line.h"
#include "render/shared/units.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::render {
namespace {

constexpr RowListTexts kTexts = {"beamdump.persistent-terms/1", "terms", "persistent terms"};

void print_counts(Output& output, const query::PersistentTermCounts& counts) {
    output.print("\n{}", counted(counts.captured, "persistent term"));
    if (counts.count && *counts.count != counts.captured && !counts.is_whole()) {
        output.print(" of {}", count_text(*counts.count));
    }
    if (counts.memory) {
        output.print(", {}", bytes_text(*counts.memory));
    }
    output.print("\n");
    const auto say = [&](std::uint64_t count, std::string_view why) {
        if (count != 0) {
            output.print("{} {}\n", counted(count, "term"), why);
        }
    };
    say(counts.left_out, "too large to be captured: what is shown of them may be incomplete");
    say(counts.changed, "not captured: they kept changing while they were read");
    say(counts.unreadable, "not captured: they could not be read");
    if (counts.replaced) {
        output.print("more terms may be missing: their table was replaced while it was read\n");
    }
    if (counts.is_whole() && counts.count && *counts.count != counts.captured) {
        output.print("the node counted {} at another moment: it ran while they were read\n",
                     count_text(*counts.count));
    }
    if (counts.cut_off) {
        output.print("more terms are missing: the limit of time or size was reached\n");
    }
}

}  // namespace

void persistent_terms_text(Output& output, query::PersistentTermsAnswer& answer,
                           const query::DumpFacts& facts, bool groups) {
    if (groups) {
        row_groups(output, answer.list, facts, kTexts, query::kPersistentTermSort, false);
    } else {
        rows_text(output, answer.list, facts, kTexts);
    }
    print_counts(output, answer.counts);
}

void persistent_terms_json(Output& output, query::PersistentTermsAnswer& answer,
                           const query::DumpFacts& facts, bool groups) {
    if (groups) {
        row_groups(output, answer.list, facts, kTexts, query::kPersistentTermSort, true);
        return;
    }
    RowListExtras extras;
    extras.json_after = [&](JsonWriter& json) {
        const auto& counts = answer.counts;
        json.member("count", counts.count);
        json.member("memory_bytes", counts.memory);
        json.begin_object("missing");
        json.member("left_out", counts.left_out);
        json.member("changed", counts.changed);
        json.member("unreadable", counts.unreadable);
        json.member("replaced", counts.replaced);
        json.member("cut_off", counts.cut_off);
        json.end_object();
        json.member("placeholders", answer.placeholders);
    };
    rows_json(output, answer.list, facts, kTexts, extras);
}

Result<std::uint64_t> persistent_term_text(Output& output, Dump& dump, const std::string& key,
                                           std::size_t term_bytes, const query::DumpFacts& facts) {
    print_layout_notice(output, facts.layout);
    return query::show_persistent_term(
        dump, key, term_bytes, [&](const query::PersistentTermLine& term) {
            output.print("{}\n", one_line(term.key));
            if (term.words && term.memory) {
                output.print("{}, {}\n", counted(*term.words, "word"), bytes_text(*term.memory));
            }
            if (term.left_out) {
                output.print("too large to be captured: what is shown may be incomplete\n");
            }
            put_term_line(output, term.value);
            output.write("\n");
        });
}

Result<std::uint64_t> persistent_term_json(Output& output, Dump& dump, const std::string& key,
                                           std::size_t term_bytes, const query::DumpFacts& facts) {
    std::optional<JsonWriter> writer;  // only an answer has a beginning
    ASSIGN_OR_RETURN(const auto missing,
                     query::show_persistent_term(dump, key, term_bytes,
                                                 [&](const query::PersistentTermLine& term) {
                                                     if (!writer) {
                                                         writer.emplace(output, kTexts.schema);
                                                         write_dump(*writer, "dump", facts);
                                                         writer->begin_array("terms");
                                                     }
                                                     auto& json = *writer;
                                                     json.begin_object();
                                                     json.member("key", term.key);
                                                     json.member("words", term.words);
                                                     json.member("memory", term.memory);
                                                     json.member("left_out", term.left_out);
                                                     write_term(json, "term", term.value);
                                                     json.end_object();
                                                 }));
    writer->end_array();
    writer->member("placeholders", missing);
    writer->finish();
    return missing;
}

}  // namespace beamdump::render
