#include "render/heap.h"
#include "render/process_table.h"
#include "render/table.h"
#include "render/units.h"

#include <libdump/heap/term_sizes.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

namespace beamdump::render {

namespace {

constexpr std::uint64_t kWordBytes = 8;

std::string term_line(const query::TermText& term) {
    return one_line(term.text) + (term.cut ? "..." : "");
}

std::string words_text(std::uint64_t words) {
    if (words == kSaturatedSize) {
        return "over 2^64";
    }
    return count_text(words);
}

std::string known_text(const std::optional<std::uint64_t>& words) {
    return words ? count_text(*words) : "?";
}

std::string words_and_bytes(std::uint64_t words) {
    return fmt::format("{} words ({})", count_text(words), bytes_text(words * kWordBytes));
}

void print_areas(Output& output, const query::HeapReport& report) {
    output.write("\nMemory, in words\n");
    Table table({{""},
                 {"BLOCK", Align::kRight},
                 {"USED", Align::kRight},
                 {"LIVE", Align::kRight},
                 {"DEAD", Align::kRight},
                 {"DEAD BYTES", Align::kRight}});
    for (const query::AreaUse& area : report.areas) {
        const auto dead = area.dead_words();
        table.add({area.name, known_text(area.block_words), known_text(area.used_words),
                   count_text(area.live_words), known_text(dead),
                   dead ? bytes_text(*dead * kWordBytes) : "?"});
    }
    table.add({"stack", "", known_text(report.stack_words), "", "", ""});
    table.print(output, "  ");
    if (report.free_words) {
        output.print("  {} free before the heap is collected\n",
                     words_and_bytes(*report.free_words));
    }
    if (report.heap_words_after_major) {
        output.print("  {} in the heap block after a major collection of what is live\n",
                     words_and_bytes(*report.heap_words_after_major));
    }
    if (report.literal_words > 0) {
        output.print("  {} of literals referred to, which belong to the node\n",
                     words_and_bytes(report.literal_words));
    }
}

void print_roots(Output& output, const query::HeapReport& report) {
    for (const query::RootGroup& group : report.roots) {
        if (group.total == 0) {
            continue;
        }
        output.print("\nRoots: {} ({}, {})\n", query::root_kind_text(group.kind),
                     count_text(group.total), words_and_bytes(group.shared_words));
        Table table({{""}, {"SHARED", Align::kRight}, {"FLAT", Align::kRight}, {"TERM"}});
        for (const query::RootLine& line : group.lines) {
            table.add({one_line(query::root_text(line)) +
                           (line.kind == query::RootKind::kStack ? ", " + line.name : ""),
                       words_text(line.shared_words), words_text(line.flat_words),
                       term_line(line.term)});
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
    output.print("\n{}\n", title);
    Table table({{"OBJECTS", Align::kRight}, {"WORDS", Align::kRight}, {""}});
    for (const query::KindCount& count : counts) {
        table.add({count_text(count.objects), count_text(count.words), one_line(count.name)});
    }
    table.print(output, "  ");
}

void print_terms(Output& output, std::string_view title,
                 const std::vector<query::LargeTermLine>& lines) {
    if (!lines.empty()) {
        output.print("\n{}\n", title);
    }
    Table table({{"WORDS", Align::kRight}, {"WHERE"}, {"TERM"}});
    for (const query::LargeTermLine& line : lines) {
        std::string where = line.root;
        for (const std::string& step : line.path) {
            where += " -> " + step;
        }
        table.add({count_text(line.words), one_line(where), term_line(line.term)});
    }
    table.print(output, "  ");
}

void print_top_level(Output& output, const query::TopLevelTermList& list) {
    output.print("\nTop-level terms ({}, of which {} dead: {})\n", count_text(list.total),
                 count_text(list.dead), words_and_bytes(list.dead_words));
    Table table({{"ADDRESS"}, {"AREA"}, {"WORDS", Align::kRight}, {""}, {"TERM"}});
    for (const query::TopLevelLine& line : list.lines) {
        table.add({fmt::format("{:#x}", line.address), line.area, count_text(line.words),
                   line.dead ? "dead" : "",
                   line.unreadable ? "(words that make no term)" : term_line(line.term)});
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
    output.print("\nReference-counted binaries kept ({}, {})\n", count_text(report.binaries),
                 bytes_text(report.binary_bytes));
    Table table({{"SIZE", Align::kRight}, {"REFERENCES", Align::kRight}, {"ADDRESS"}});
    for (const query::BinaryLine& line : report.largest_binaries) {
        table.add({bytes_text(line.bytes), line.references ? count_text(*line.references) : "?",
                   fmt::format("{:#x}", line.address)});
    }
    table.print(output, "  ");
}

}  // namespace

void heap_text(Output& output, const query::HeapReport& report) {
    output.print("{}  {}\n", report.line.pid, process_name(report.line));
    if (report.line.void_reason) {
        output.print("VOID: {} when captured{}{}; the dump has no heap of it\n",
                     *report.line.void_reason, report.void_detail ? ", " : "",
                     one_line(report.void_detail.value_or("")));
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
        print_terms(output, "What would be freed if a term went away", *report.retained);
    }
    if (report.terms) {
        print_top_level(output, *report.terms);
    }
    print_binaries(output, report);
    if (report.undecoded_messages > 0) {
        output.print("\n{} messages stand undecoded, in the external term format\n",
                     count_text(report.undecoded_messages));
    }
}

}  // namespace beamdump::render
