#include "query/node/time_span.h"
#include "render/diff/change_table.h"
#include "render/diff/diff.h"
#include "render/process_table.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace beamdump::render {

namespace {

using query::Measure;

void print_dump_line(Output& output, const query::DumpsDiff& diff, std::size_t number,
                     const Marks& marks) {
    const auto& facts = diff.dumps[number];
    std::string text = fmt::format(
        "{}, {}", facts.file, facts.node_name ? marks("node", *facts.node_name) : "unknown node");
    if (facts.captured_us) {
        text += fmt::format(", {}", time_text(*facts.captured_us));
    }
    if (number > 0 && diff.times_us[number - 1] && facts.captured_us) {
        if (const auto span = query::span_us(*diff.times_us[number - 1], *facts.captured_us)) {
            text += fmt::format(" ({} {})", duration_text(std::abs(*span) * 1000),
                                *span < 0 ? "EARLIER" : "later");
        }
    }
    if (facts.damage) {
        text += "; INCOMPLETE: " + *facts.damage;
    }
    if (facts.export_detail) {
        text += fmt::format("; an export (detail {})", *facts.export_detail);
    }
    print_line(output, fmt::format("{}  {}", number + 1, one_line(text)));
}

void print_head(Output& output, const query::DumpsDiff& diff, const DumpMarks& marks) {
    for (std::size_t number = 0; number < diff.dumps.size(); ++number) {
        print_layout_notice(output, diff.dumps[number].layout, {},
                            fmt::format("Layout of dump {}", number + 1));
    }
    for (std::size_t number = 0; number < diff.dumps.size(); ++number) {
        print_dump_line(output, diff, number, marks.of(number));
    }
    for (std::size_t number = 0; number < diff.dumps.size(); ++number) {
        print_memory_notice(output, diff.dumps[number], fmt::format("{}: ", number + 1));
    }
    if (!diff.same_run && diff.process.empty()) {
        output.write(
            "The dumps are of different nodes or runs: processes are compared by registered name, "
            "label and initial call.\n");
    }
}

void print_process(Output& output, const query::DumpsDiff& diff, const DumpMarks& marks) {
    for (std::size_t number = 0; number < diff.process.size(); ++number) {
        const auto& line = diff.process[number];
        if (!line) {
            output.print("In {}: no such process\n", number + 1);
            continue;
        }
        const Marks& marks_here = marks.of(number);
        output.print(
            "In {}: {} {}, memory {}, messages {}\n", number + 1, marks_here("pid", line->pid),
            process_name(*line, marks_here),
            line->memory_bytes ? marks_here("memory", bytes_text(*line->memory_bytes)) : "?",
            line->message_queue_length
                ? marks_here("message_queue_len", count_text(*line->message_queue_length))
                : "?");
    }
}

void print_growth_of_node(Output& output, const query::DumpsDiff& diff, const DumpMarks& marks) {
    const bool of_process = !diff.process.empty();
    if (diff.growth.empty()) {
        output.print("\nNothing grew by 1% of {}.\n",
                     of_process ? "the process's memory"
                                : "the node's memory, processes, atoms, tables or ports");
        return;
    }
    output.print(
        "\nGrew most, as a share of what the {} has at the end{}:\n",
        of_process ? "process" : "node",
        diff.memory_bytes ? fmt::format(" ({} of memory)", bytes_text(*diff.memory_bytes)) : "");
    print_growth(output, diff.growth, marks);
    if (diff.dumps.size() > 2 && !diff.has_growth()) {
        output.write("  None of it grew steadily.\n");
    }
}

/// "dump 2", "dumps 2 and 3".
std::string lacking_text(const std::vector<bool>& has) {
    std::vector<std::size_t> without;
    for (std::size_t dump = 0; dump < has.size(); ++dump) {
        if (!has[dump]) {
            without.push_back(dump + 1);
        }
    }
    return without.empty()
               ? ""
               : fmt::format("dump{} {}", without.size() > 1 ? "s" : "", fmt::join(without, ", "));
}

std::string total_text(const query::DiffSection& section, Measure measure, const DumpMarks& marks) {
    const auto& totals = section.totals.at(static_cast<std::size_t>(measure));
    if (!totals || !totals->change) {
        return "";
    }
    const MeasureText text(marks, *section.kind, measure);
    std::string name(section.kind->name_of(measure));
    std::ranges::replace(name, '_', ' ');
    return fmt::format("; {} {} -> {} ({})", name, text.first(*totals), text.last(*totals),
                       text.change(totals->change));
}

void print_turnover(Output& output, const query::DiffSection& section) {
    const auto& kind = *section.kind;
    if (section.turnover.empty()) {
        return;
    }
    output.print("  {} and {} by {}:\n", kind.appeared, kind.gone, kind.turnover_by);
    for (const query::Turnover& of : section.turnover) {
        print_line(output, fmt::format("    {}  {} {}, {} {}", one_line(of.container),
                                       count_text(of.appeared), kind.appeared, count_text(of.gone),
                                       kind.gone));
    }
    if (section.turnover.size() < section.turnover_count) {
        output.print("    and {} more\n",
                     count_text(section.turnover_count - section.turnover.size()));
    }
}

void print_section(Output& output, const query::DiffSection& section, const DumpMarks& marks,
                   bool of_exports) {
    const auto& kind = *section.kind;
    const std::string lacking = lacking_text(section.has);
    if (!section.compared()) {
        // Of no dump: the section is not asked for, or no dump can have it; an export may lack what
        // its dump has.
        if (std::ranges::any_of(section.has, [](bool has) { return has; })) {
            output.print("\n{}: not compared, {} lack{} it\n", kind.title, lacking,
                         std::ranges::count(section.has, false) > 1 ? "" : "s");
        } else if (of_exports) {
            output.print("\n{}: not compared, the exports do not have it\n", kind.title);
        }
        return;
    }
    std::string totals;
    for (const Measure measure : {Measure::kMembers, Measure::kCount, Measure::kSize}) {
        totals += total_text(section, measure, marks);
    }
    output.write("\n");
    print_line(output,
               fmt::format("{}: {} {}, {} {}{}{}{}{}", kind.title, count_text(section.appeared),
                           kind.appeared, count_text(section.gone), kind.gone,
                           kind.name_of(kind.sorted_by).empty()
                               ? ""
                               : fmt::format(", {} grew, {} shrank", count_text(section.grown),
                                             count_text(section.shrunk)),
                           section.changed == 0
                               ? ""
                               : fmt::format(", {} {}", count_text(section.changed), kind.changed),
                           totals, lacking.empty() ? "" : fmt::format("; not in {}", lacking)));
    if (!section.grown_most.empty()) {
        print_changes(output, section.grown_most, kind, marks);
    }
    if (!section.gone_most.empty()) {
        output.print("  {}:\n", kind.gone);
        for (const query::ThingChange& change : section.gone_most) {
            const MeasureText text(marks, kind, kind.sorted_by);
            const auto& series = change.of(kind.sorted_by);
            print_line(output, kind.name_of(kind.sorted_by).empty()
                                   ? "    " + one_line(change.title)
                                   : fmt::format("    {}  {}", one_line(change.title),
                                                 series ? text.first(*series) : "?"));
        }
    }
    if (!section.changed_most.empty()) {
        std::vector<std::string> names;
        names.reserve(section.changed_most.size());
        for (const query::ThingChange& change : section.changed_most) {
            names.push_back(one_line(change.title));
        }
        print_line(output, fmt::format("  {}: {}", kind.changed, fmt::join(names, ", ")));
    }
    print_turnover(output, section);
}

}  // namespace

void diff_text(Output& output, const query::DumpsDiff& diff) {
    const DumpMarks marks(diff);
    print_head(output, diff, marks);
    print_process(output, diff, marks);
    print_growth_of_node(output, diff, marks);
    const bool of_exports = std::ranges::any_of(
        diff.dumps, [](const query::DumpFacts& facts) { return facts.export_detail.has_value(); });
    for (const query::DiffSection& section : diff.sections) {
        print_section(output, section, marks, of_exports);
    }
}

}  // namespace beamdump::render
