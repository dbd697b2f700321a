#include "render/heap.h"

#include "render/processes.h"
#include "render/shared/json.h"
#include "render/shared/layout.h"
#include "render/shared/table.h"
#include "render/shared/term_line.h"
#include "render/shared/units.h"
#include "render/shared/void_text.h"

#include <libdump/heap/term_sizes.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

namespace beamdump::render {

namespace {

std::string words_text(std::uint64_t words) {
    if (words == kSaturatedSize) {
        return "over 2^64";
    }
    return count_text(words);
}

std::string known_text(const std::optional<std::uint64_t>& words) {
    return words ? count_text(*words) : "?";
}

std::string words_and_bytes(const query::HeapReport& report, std::uint64_t words) {
    return fmt::format("{} ({})", counted(words, "word"),
                       bytes_text(words * report.dump.word_bytes));
}

void print_areas(Output& output, const query::HeapReport& report) {
    print_title(output, "Memory, in words");
    Table table({{""},
                 {"BLOCK", Align::kRight},
                 {"USED", Align::kRight},
                 {"LIVE", Align::kRight},
                 {"DEAD", Align::kRight},
                 {"DEAD BYTES", Align::kRight}});
    for (const query::AreaUse& area : report.areas) {
        const auto dead = area.dead_words;
        table.add({area.name, known_text(area.block_words), known_text(area.used_words),
                   known_text(area.live_words), known_text(dead),
                   dead ? bytes_text(*dead * report.dump.word_bytes) : "?"});
    }
    table.add({"stack", "", known_text(report.stack_words), "", "", ""});
    table.print(output, "  ");
    if (report.unplaced_objects > 0) {
        output.print("  {} live in areas that the crash dump does not name\n",
                     words_and_bytes(report, report.unplaced_words));
    }
    if (report.reached_only) {
        output.write("  The crash dump does not have all live terms, so dead terms are unknown\n");
    }
    if (report.free_words) {
        output.print("  {} free before the heap is collected\n",
                     words_and_bytes(report, *report.free_words));
    }
    if (report.heap_words_after_major) {
        output.print("  {} in the heap block after a major collection of what is live\n",
                     words_and_bytes(report, *report.heap_words_after_major));
    }
    if (report.literal_words > 0) {
        output.print("  {} of referenced literals, which belong to the node\n",
                     words_and_bytes(report, report.literal_words));
    }
}

/// The root as text, with the full key of a dictionary entry.
Table::Cell root_cell(const query::RootLine& line, const std::string& function) {
    return line.key && line.key->more ? term_cell(*line.key, "dictionary ")
                                      : Table::Cell{one_line(query::root_text(line)) + function};
}

void print_roots(Output& output, const query::HeapReport& report) {
    for (const query::RootGroup& group : report.roots) {
        if (group.total == 0) {
            continue;
        }
        print_title(output, fmt::format("Roots: {} ({}, {})", query::root_kind_text(group.kind),
                                        count_text(group.total),
                                        words_and_bytes(report, group.shared_words)));
        Table table({{"", Align::kLeft, true},
                     {"SHARED", Align::kRight},
                     {"FLAT", Align::kRight},
                     {"TERM", Align::kLeft, true}});
        for (const query::RootLine& line : group.lines) {
            const std::string function =
                line.kind == query::RootKind::kStack ? ", " + line.name : "";
            table.add_cells({root_cell(line, function),
                             {words_text(line.shared_words)},
                             {words_text(line.flat_words)},
                             term_cell(line.term)});
        }
        table.print(output, "  ");
        if (group.lines.size() < group.total) {
            output.print("  and {} smaller; --limit 0 shows all\n",
                         count_text(group.total - group.lines.size()));
        }
    }
}

void print_counts(Output& output, std::string_view title,
                  const std::vector<query::KindCount>& counts) {
    if (counts.empty()) {
        return;
    }
    print_title(output, title);
    Table table({{"OBJECTS", Align::kRight}, {"WORDS", Align::kRight}, {""}});
    for (const query::KindCount& count : counts) {
        table.add({count_text(count.objects), count_text(count.words), one_line(count.name)});
    }
    table.print(output, "  ");
}

void print_terms(Output& output, std::string_view title,
                 const std::vector<query::LargeTermLine>& lines) {
    if (!lines.empty()) {
        print_title(output, title);
    }
    Table table(
        {{"WORDS", Align::kRight}, {"WHERE", Align::kLeft, true}, {"TERM", Align::kLeft, true}});
    for (const query::LargeTermLine& line : lines) {
        std::string where = line.root;
        for (const std::string& step : line.path) {
            where += " -> " + step;
        }
        table.add_cells({{count_text(line.words)}, {one_line(where)}, term_cell(line.term)});
    }
    table.print(output, "  ");
}

void print_top_level(Output& output, const query::HeapReport& report,
                     const query::TopLevelTermList& list) {
    output.print("\nTop-level terms ({}{})\n", count_text(list.total),
                 list.dead ? fmt::format(", {} of them dead: {}", count_text(*list.dead),
                                         words_and_bytes(report, *list.dead_words))
                           : ", as far as the crash dump has them");
    Table table({{"ADDRESS"}, {"AREA"}, {"WORDS", Align::kRight}, {""}, {"TERM"}});
    for (const query::TopLevelLine& line : list.lines) {
        table.add_cells({{fmt::format("{:#x}", line.address)},
                         {line.area},
                         {count_text(line.words)},
                         {line.dead ? "dead" : ""},
                         line.unreadable ? Table::Cell{"(invalid term)"} : term_cell(line.term)});
    }
    table.print(output, "  ");
    if (list.lines.size() < list.total) {
        output.print("  and more; --limit 0 shows all\n");
    }
}

void print_binaries(Output& output, const query::HeapReport& report) {
    if (report.binaries == 0) {
        return;
    }
    const bool any_size = report.unsized_binaries < report.binaries;
    print_title(
        output,
        fmt::format("Reference-counted binaries kept ({}, {}{})", count_text(report.binaries),
                    any_size ? bytes_text(report.binary_bytes) : "size not in the dump",
                    any_size && report.unsized_binaries > 0
                        ? fmt::format(" without {} whose size is not in the dump",
                                      count_text(report.unsized_binaries))
                        : ""));
    Table table({{"SIZE", Align::kRight}, {"REFERENCES", Align::kRight}, {"ADDRESS"}});
    for (const query::BinaryLine& line : report.largest_binaries) {
        table.add({line.bytes ? bytes_text(*line.bytes) : "?",
                   line.references ? count_text(*line.references) : "?",
                   fmt::format("{:#x}", line.address)});
    }
    table.print(output, "  ");
}

}  // namespace

void heap_text(Output& output, const query::HeapReport& report) {
    print_layout_notice(output, report.dump.layout);
    output.print("{}  {}\n", report.line.pid, process_name(report.line));
    if (report.line.void_reason) {
        output.print("VOID: it {}{}{}; the dump does not have its heap\n",
                     std::string(void_clause(*report.line.void_reason)),
                     report.void_detail ? ": " : "", one_line(report.void_detail.value_or("")));
        output.write(void_advice(report.dump, *report.line.void_reason, report.line.pid));
        return;
    }
    if (report.withheld) {
        output.write("SENSITIVE: its heap is withheld; --sensitive shows it\n");
        return;
    }
    print_areas(output, report);
    print_roots(output, report);
    print_counts(output, "Live objects by kind", report.kinds);
    print_counts(output, "Tuples by their first element", report.tags);
    print_counts(output, "Small maps by their keys", report.key_sets);
    print_terms(output, "Largest terms", report.largest);
    if (report.retained) {
        print_terms(output, "Retained sizes", *report.retained);
    }
    if (report.terms) {
        print_top_level(output, report, *report.terms);
    }
    print_binaries(output, report);
    if (report.undecoded_messages > 0) {
        output.print("\n{} {} undecoded, in the external term format\n",
                     counted(report.undecoded_messages, "message"),
                     report.undecoded_messages == 1 ? "is" : "are");
    }
}

namespace {

void write_memory(JsonWriter& json, const query::HeapReport& report) {
    json.begin_object("memory");
    for (const query::AreaUse& area : report.areas) {
        json.begin_object(area.name);
        json.member("block_words", area.block_words);
        json.member("used_words", area.used_words);
        json.member("live_words", area.live_words);
        json.member("live_objects", area.live_objects);
        json.member("dead_words", area.dead_words);
        json.end_object();
    }
    if (report.unplaced_objects > 0) {
        json.begin_object("unplaced");
        json.member("live_words", report.unplaced_words);
        json.member("live_objects", report.unplaced_objects);
        json.end_object();
    }
    json.member("stack_words", report.stack_words);
    json.member("free_words", report.free_words);
    json.member("literal_words", report.literal_words);
    json.member("heap_words_after_major_collection", report.heap_words_after_major);
    json.end_object();
}

void write_root_members(JsonWriter& json, const query::RootLine& line) {
    json.member("root", query::root_text(line));
    if (line.kind == query::RootKind::kStack) {
        json.member("frame", line.frame);
        json.member("function", line.name);
    }
    if (line.kind == query::RootKind::kStack || line.kind == query::RootKind::kArgument ||
        line.kind == query::RootKind::kMessage) {
        json.member("index", line.index);
    }
    if (line.key) {
        write_term(json, "key", *line.key);
    }
    write_term(json, "term", line.term);
    json.member("shared_words", line.shared_words);
    json.member("flat_words", line.flat_words);
    json.member("flat_saturated", line.flat_words == kSaturatedSize);
    json.member("whole", line.whole);
}

void write_roots(JsonWriter& json, const query::HeapReport& report) {
    json.begin_object("roots");
    for (const query::RootGroup& group : report.roots) {
        json.begin_object(query::root_kind_text(group.kind));
        json.member("total", group.total);
        json.member("shared_words", group.shared_words);
        write_objects(json, "items", group.lines,
                      [&json](const query::RootLine& line) { write_root_members(json, line); });
        json.end_object();
    }
    json.end_object();
}

void write_counts(JsonWriter& json, std::string_view name,
                  const std::vector<query::KindCount>& counts) {
    write_objects(json, name, counts, [&json](const query::KindCount& count) {
        json.member("name", count.name);
        json.member("objects", count.objects);
        json.member("words", count.words);
    });
}

void write_terms(JsonWriter& json, std::string_view name,
                 const std::vector<query::LargeTermLine>& lines) {
    write_objects(json, name, lines, [&json](const query::LargeTermLine& line) {
        json.member("words", line.words);
        json.member("root", line.root);
        json.begin_array("path");
        for (const std::string& step : line.path) {
            json.value(step);
        }
        json.end_array();
        write_term(json, "term", line.term);
    });
}

void write_top_level(JsonWriter& json, const query::TopLevelTermList& list) {
    json.begin_object("terms");
    json.member("total", list.total);
    json.member("dead", list.dead);
    json.member("dead_words", list.dead_words);
    json.member("unreadable_words", list.unreadable_words);
    write_objects(json, "items", list.lines, [&json](const query::TopLevelLine& line) {
        json.member("area", line.area);
        json.hex_member("address", line.address);
        json.member("words", line.words);
        json.member("dead", line.dead);
        json.member("unreadable", line.unreadable);
        if (!line.unreadable) {
            write_term(json, "term", line.term);
        }
    });
    json.end_object();
}

void write_binaries(JsonWriter& json, const query::HeapReport& report) {
    json.begin_object("binaries");
    json.member("total", report.binaries);
    json.member("bytes", report.binary_bytes);
    json.member("without_size", report.unsized_binaries);
    write_objects(json, "largest", report.largest_binaries, [&json](const query::BinaryLine& line) {
        json.member("bytes", line.bytes);
        json.member("references", line.references);
        json.hex_member("address", line.address);
    });
    json.end_object();
}

}  // namespace

void heap_json(Output& output, const query::HeapReport& report) {
    JsonWriter json(output, "beamdump.heap/1");
    write_dump(json, "dump", report.dump);
    json.member("pid", report.line.pid);
    json.member("registered_name", report.line.registered_name);
    json.member("void_reason", report.line.void_reason);
    json.member("void_detail", report.void_detail);
    json.member("withheld", report.withheld);
    if (!report.withheld) {
        write_memory(json, report);
        write_roots(json, report);
        json.member("undecoded_messages", report.undecoded_messages);
        write_counts(json, "kinds", report.kinds);
        write_counts(json, "tags", report.tags);
        write_counts(json, "key_sets", report.key_sets);
        write_terms(json, "largest_terms", report.largest);
        if (report.retained) {
            write_terms(json, "retained", *report.retained);
        }
        if (report.terms) {
            write_top_level(json, *report.terms);
        }
        write_binaries(json, report);
        json.member("unreadable", report.unreadable);
    }
    json.finish();
}

}  // namespace beamdump::render
