#include "render/diff.h"

#include "query/diff/series.h"
#include "query/facts/time_span.h"
#include "render/history.h"
#include "render/processes.h"
#include "render/shared/json.h"
#include "render/shared/layout.h"
#include "render/shared/process_counts.h"
#include "render/shared/starts.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beamdump::render {

namespace {

using query::Measure;

/// A measure of a section's things as text.
class MeasureText {
  public:
    explicit MeasureText(query::Measure measure) : measure_(measure) {}

    /// The first or the last known value; "?" where none is.
    [[nodiscard]] std::string first(const query::Series& series) const;
    [[nodiscard]] std::string last(const query::Series& series) const;
    [[nodiscard]] std::string change(const std::optional<std::int64_t>& change) const;

  private:
    [[nodiscard]] std::string value(std::uint64_t known) const;

    query::Measure measure_;
};

/// The first shapes of a mailbox that are shown, by their growth.
constexpr std::size_t kMostParts = 3;
/// Processes of each table of the readings between two dumps.
constexpr std::size_t kProcessesOfHistory = 5;

std::string heading(std::string_view text) {
    std::string title(text);
    std::ranges::transform(title, title.begin(), [](unsigned char c) {
        return c == '_' ? ' ' : static_cast<char>(std::toupper(c));
    });
    return title;
}

/// The measure that things are sorted by, and those that say something: several things with one
/// key, a count in any.
std::vector<Measure> shown_measures(const query::SectionKind& kind,
                                    const std::vector<query::ThingChange>& changes) {
    std::vector<Measure> shown = {kind.sorted_by};
    for (const Measure measure : query::kMeasures) {
        const std::uint64_t least = measure == Measure::kMembers ? 2 : 1;
        const bool any = std::ranges::any_of(changes, [&](const query::ThingChange& change) {
            const auto& series = change.of(measure);
            return series && std::ranges::any_of(series->values, [least](const auto& value) {
                       return value.value_or(0) >= least;
                   });
        });
        if (any && measure != kind.sorted_by) {
            shown.push_back(measure);
        }
    }
    return shown;
}

/// Whether any is told to grow steadily or not: of three dumps or more.
bool has_trends(const std::vector<query::ThingChange>& changes) {
    return std::ranges::any_of(changes, [](const auto& change) { return change.in.size() > 2; });
}

/// In how many steps of all it grew: "2 of 3".
std::string rises_text(const query::Series& series) {
    return series.steps == 0 ? "" : fmt::format("{} of {}", series.rises, series.steps);
}

/// Per hour, in how many steps, and whether steadily.
void add_trend(std::vector<std::string>& row, const MeasureText& text,
               const std::optional<query::Series>& series) {
    row.push_back(series ? text.change(series->change_per_hour) : "");
    row.push_back(series ? rises_text(*series) : "");
    row.emplace_back(series && series->steady.value_or(false) ? "steady" : "");
}

void add_trend_columns(std::vector<Table::Column>& columns) {
    columns.push_back({"PER HOUR", Align::kRight});
    columns.push_back({"ROSE", Align::kRight});
    columns.push_back({"GROWTH"});
}

std::string MeasureText::value(std::uint64_t known) const {
    return measure_ == Measure::kSize ? bytes_text(known) : count_text(known);
}

std::string MeasureText::first(const query::Series& series) const {
    const auto known =
        std::ranges::find_if(series.values, [](const auto& one) { return one.has_value(); });
    return known == series.values.end() ? "?" : value(**known);
}

std::string MeasureText::last(const query::Series& series) const {
    for (std::size_t dump = series.values.size(); dump-- > 0;) {
        if (series.values[dump]) {
            return value(*series.values[dump]);
        }
    }
    return "?";
}

std::string MeasureText::change(const std::optional<std::int64_t>& change) const {
    return !change                      ? ""
           : measure_ == Measure::kSize ? byte_change_text(*change)
                                        : count_change_text(*change);
}

/// Things that changed, and their parts.
void print_changes(Output& output, const std::vector<query::ThingChange>& changes,
                   const query::SectionKind& kind) {
    const auto measures = shown_measures(kind, changes);
    const bool trends = has_trends(changes);
    std::vector<Table::Column> columns = {{std::string(kind.thing), Align::kLeft, true}};
    for (const Measure measure : measures) {
        columns.push_back({heading(kind.name_of(measure)), Align::kRight});
        columns.push_back({"CHANGE", Align::kRight});
        if (trends && measure == measures.front()) {
            add_trend_columns(columns);
        }
    }
    columns.push_back({""});
    Table table(columns);
    for (const query::ThingChange& change : changes) {
        std::vector<std::string> row = {one_line(change.title)};
        for (const Measure measure : measures) {
            const MeasureText text(measure);
            const auto& series = change.of(measure);
            row.push_back(series ? text.last(*series) : "?");
            row.push_back(series ? text.change(series->change) : "");
            if (trends && measure == measures.front()) {
                add_trend(row, text, series);
            }
        }
        row.emplace_back(change.appeared ? kind.appeared : "");
        table.add(std::move(row));
        const MeasureText text(Measure::kCount);
        for (const auto& part :
             std::span(change.parts).first(std::min(change.parts.size(), kMostParts))) {
            std::vector<std::string> part_row(columns.size());
            part_row[0] = "  " + one_line(part.name);
            part_row[1] = text.last(part.count);
            part_row[2] = text.change(part.count.change);
            table.add(std::move(part_row));
        }
    }
    table.print(output, "  ");
}

/// Things of all sections, by their share of what the node has.
void print_growth(Output& output, const std::vector<query::ThingChange>& growth) {
    const bool trends = has_trends(growth);
    std::vector<Table::Column> columns = {{"SHARE", Align::kRight},     {"SECTION"},
                                          {"WHAT", Align::kLeft, true}, {"", Align::kLeft},
                                          {"BEFORE", Align::kRight},    {"AFTER", Align::kRight},
                                          {"CHANGE", Align::kRight}};
    if (trends) {
        add_trend_columns(columns);
    }
    Table table(columns);
    for (const query::ThingChange& change : growth) {
        const auto& kind = *change.kind;
        const MeasureText text(change.ranked_by);
        const auto& series = change.of(change.ranked_by);
        std::string section(kind.name);
        std::ranges::replace(section, '_', ' ');
        std::string measure(kind.name_of(change.ranked_by));
        std::ranges::replace(measure, '_', ' ');
        std::vector<std::string> row = {fmt::format("{:.1f}%", *change.share * 100),
                                        std::move(section),
                                        one_line(change.title),
                                        std::move(measure),
                                        series ? text.first(*series) : "?",
                                        series ? text.last(*series) : "?",
                                        series ? text.change(series->change) : ""};
        if (trends) {
            add_trend(row, text, series);
        }
        table.add(std::move(row));
    }
    table.print(output, "  ");
}

void print_dump_line(Output& output, const query::DumpsDiff& diff, std::size_t number) {
    const auto& facts = diff.dumps[number];
    std::string text =
        fmt::format("{}, {}", facts.file, facts.node_name ? *facts.node_name : "unknown node");
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

void print_head(Output& output, const query::DumpsDiff& diff) {
    for (std::size_t number = 0; number < diff.dumps.size(); ++number) {
        print_layout_notice(output, diff.dumps[number].layout,
                            fmt::format("Layout of dump {}", number + 1));
    }
    for (std::size_t number = 0; number < diff.dumps.size(); ++number) {
        print_dump_line(output, diff, number);
    }
    for (std::size_t number = 0; number < diff.dumps.size(); ++number) {
        print_memory_notice(output, diff.dumps[number], fmt::format("{}: ", number + 1));
    }
    if (!diff.same_run && diff.process.empty()) {
        output.write(
            "The dumps are of different nodes or runs: processes are compared by registered name, "
            "label and initial call.\n");
    }
    if (diff.starts) {
        output.print("{}{} {} started meanwhile ({:.1f} a second).\n",
                     diff.starts->at_least ? "At least " : "",
                     counted(diff.starts->count, "process", "processes"),
                     diff.starts->count == 1 ? "was" : "were", diff.starts->per_second());
    }
}

void print_process(Output& output, const query::DumpsDiff& diff) {
    for (std::size_t number = 0; number < diff.process.size(); ++number) {
        const auto& line = diff.process[number];
        if (!line) {
            output.print("In {}: no such process\n", number + 1);
            continue;
        }
        output.print("In {}: {} {}, memory {}, messages {}\n", number + 1, line->pid,
                     process_name(*line),
                     line->memory_bytes ? bytes_text(*line->memory_bytes) : "?",
                     line->message_queue_length ? count_text(*line->message_queue_length) : "?");
    }
}

void print_growth_of_node(Output& output, const query::DumpsDiff& diff) {
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
    print_growth(output, diff.growth);
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

std::string total_text(const query::DiffSection& section, Measure measure) {
    const auto& totals = section.totals.at(static_cast<std::size_t>(measure));
    if (!totals || !totals->change) {
        return "";
    }
    const MeasureText text(measure);
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

void print_section(Output& output, const query::DiffSection& section, bool of_exports) {
    const auto& kind = *section.kind;
    const std::string lacking = lacking_text(section.has);
    if (!section.compared()) {
        // No dump has the section: it is not asked for, or no dump can have it; an export may lack
        // what its dump has.
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
        totals += total_text(section, measure);
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
        print_changes(output, section.grown_most, kind);
    }
    if (!section.gone_most.empty()) {
        output.print("  {}:\n", kind.gone);
        for (const query::ThingChange& change : section.gone_most) {
            const MeasureText text(kind.sorted_by);
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
    print_head(output, diff);
    print_process(output, diff);
    print_growth_of_node(output, diff);
    if (diff.history) {
        print_title(output, fmt::format("In between, by {} of beamdump-watch",
                                        counted(diff.history->readings.size(), "reading")));
        history_tables(output, *diff.history, kProcessesOfHistory);
    }
    const bool of_exports = std::ranges::any_of(
        diff.dumps, [](const query::DumpFacts& facts) { return facts.export_detail.has_value(); });
    for (const query::DiffSection& section : diff.sections) {
        print_section(output, section, of_exports);
    }
}

namespace {

/// An object: the values of the dumps that have one, by the dumps' numbers from 1 on, and how they
/// changed.
void write_series(JsonWriter& json, std::string_view name, const query::Series& series) {
    json.begin_object(name);
    json.begin_array("values");
    for (std::size_t dump = 0; dump < series.values.size(); ++dump) {
        if (series.values[dump]) {
            json.begin_object();
            json.member("dump", std::uint64_t{dump + 1});
            json.member("value", *series.values[dump]);
            json.end_object();
        }
    }
    json.end_array();
    json.member("change", series.change);
    json.member("change_per_hour", series.change_per_hour);
    json.member("steps", series.steps);
    json.member("rises", series.rises);
    json.member("steady", series.steady);
    json.end_object();
}

/// A list of numbers, or one for each dump that is marked.
void write_dump_numbers(JsonWriter& json, std::string_view name, const std::vector<bool>& marked) {
    json.begin_array(name);
    for (std::size_t dump = 0; dump < marked.size(); ++dump) {
        if (marked[dump]) {
            json.value(std::uint64_t{dump + 1});
        }
    }
    json.end_array();
}

void write_change(JsonWriter& json, const query::ThingChange& change) {
    json.member("key", change.key);
    for (const auto& [name, value] : change.details) {
        json.member(name, value);
    }
    write_dump_numbers(json, "in_dumps", change.in);
    json.member("appeared", change.appeared);
    json.member("gone", change.gone);
    if (change.changed) {
        json.member("changed", true);
    }
    for (const query::Measure measure : query::kMeasures) {
        if (const auto& series = change.of(measure)) {
            write_series(json, change.kind->name_of(measure), *series);
        }
    }
    if (!change.parts.empty()) {
        write_objects(json, "shapes", change.parts, [&json](const query::ChangedPart& part) {
            json.member("shape", part.name);
            write_series(json, "messages", part.count);
        });
    }
}

void write_section(JsonWriter& json, const query::DiffSection& section) {
    json.begin_object(section.kind->name);
    write_dump_numbers(json, "in_dumps", section.has);
    write_dump_numbers(json, "whole_in_dumps", section.whole);
    for (const query::Measure measure : query::kMeasures) {
        const auto& totals = section.totals.at(static_cast<std::size_t>(measure));
        if (totals) {
            write_series(json, "total_" + std::string(section.kind->name_of(measure)), *totals);
        }
    }
    if (section.compared()) {
        json.member("things", section.things);
        json.member("appeared", section.appeared);
        json.member("gone", section.gone);
        json.member("common", section.common);
        json.member("grown", section.grown);
        json.member("shrunk", section.shrunk);
        json.member("changed", section.changed);
        const auto write = [&json](const query::ThingChange& change) {
            write_change(json, change);
        };
        write_objects(json, "grown_most", section.grown_most, write);
        write_objects(json, "gone_most", section.gone_most, write);
        write_objects(json, "changed_most", section.changed_most, write);
        if (section.turnover_count != 0) {
            json.member("turnover_count", section.turnover_count);
            write_objects(json, "turnover", section.turnover, [&json](const query::Turnover& of) {
                json.member("group", of.container);
                json.member("appeared", of.appeared);
                json.member("gone", of.gone);
            });
        }
    }
    json.end_object();
}

/// What each dump that has the compared process says of it.
void write_processes(JsonWriter& json, const query::DumpsDiff& diff) {
    json.begin_array("process_in_dumps");
    for (std::size_t number = 0; number < diff.process.size(); ++number) {
        if (diff.process[number]) {
            json.begin_object();
            json.member("dump", std::uint64_t{number + 1});
            json.begin_object("process");
            write_process_members(json, *diff.process[number]);
            json.end_object();
            json.end_object();
        }
    }
    json.end_array();
    json.member("process_memory", diff.memory_bytes);
}

}  // namespace

void diff_json(Output& output, const query::DumpsDiff& diff) {
    JsonWriter json(output, "beamdump.diff/2");
    json.begin_array("dumps");
    for (const query::DumpFacts& facts : diff.dumps) {
        json.begin_object();
        write_dump(json, "dump", facts);
        json.end_object();
    }
    json.end_array();
    if (diff.times_us.front() && diff.times_us.back()) {
        json.member("elapsed_us", query::span_us(*diff.times_us.front(), *diff.times_us.back()));
    }
    json.member("same_run", diff.same_run);
    if (diff.starts) {
        write_starts(json, *diff.starts);
    }
    if (diff.history) {
        json.begin_object("history");
        write_history(json, *diff.history);
        json.end_object();
    }
    if (diff.process.empty()) {
        json.member("node_memory", diff.memory_bytes);
    } else {
        write_processes(json, diff);
    }
    write_objects(json, "growth", diff.growth, [&json](const query::ThingChange& change) {
        json.member("section", change.kind->name);
        json.member("measure", change.kind->name_of(change.ranked_by));
        json.member("share_per_mille",
                    static_cast<std::uint64_t>(std::llround(*change.share * 1000)));
        json.member("steady", change.steady);
        write_change(json, change);
    });
    json.begin_object("sections");
    for (const query::DiffSection& section : diff.sections) {
        write_section(json, section);
    }
    json.end_object();
    if (diff.read.read + diff.read.inconsistent + diff.read.sensitive != 0) {
        write_processes_read(json, diff.read);
    }
    json.finish();
}

}  // namespace beamdump::render
