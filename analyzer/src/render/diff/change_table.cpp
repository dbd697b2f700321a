#include "render/diff/change_table.h"

#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <utility>

namespace beamdump::render {

namespace {

using query::Measure;

/// The first shapes of a mailbox that are shown, by their growth.
constexpr std::size_t kMostParts = 3;

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

}  // namespace

DumpMarks::DumpMarks(const query::DumpsDiff& diff) {
    for (const auto& facts : diff.dumps) {
        marks_.emplace_back(facts.layout);
    }
}

std::string DumpMarks::all(std::string_view value, const std::string& text) const {
    for (const Marks& marks : marks_) {
        if (std::string marked = marks(value, text); marked != text) {
            return marked;
        }
    }
    return text;
}

MeasureText::MeasureText(const DumpMarks& marks, const query::SectionKind& kind, Measure measure)
    : marks_(marks),
      measure_(measure),
      name_(fmt::format("diff.{}.{}", kind.name, kind.name_of(measure))) {}

std::string MeasureText::value(std::size_t dump, std::uint64_t known) const {
    return marks_.of(dump)(name_,
                           measure_ == Measure::kSize ? bytes_text(known) : count_text(known));
}

std::string MeasureText::first(const query::Series& series) const {
    const auto known =
        std::ranges::find_if(series.values, &std::optional<std::uint64_t>::has_value);
    return known == series.values.end()
               ? "?"
               : value(static_cast<std::size_t>(known - series.values.begin()), **known);
}

std::string MeasureText::last(const query::Series& series) const {
    for (std::size_t dump = series.values.size(); dump-- > 0;) {
        if (series.values[dump]) {
            return value(dump, *series.values[dump]);
        }
    }
    return "?";
}

std::string MeasureText::change(const std::optional<std::int64_t>& change) const {
    return !change ? ""
                   : marks_.all(name_, measure_ == Measure::kSize ? byte_change_text(*change)
                                                                  : count_change_text(*change));
}

std::string rises_text(const query::Series& series) {
    return series.steps == 0 ? "" : fmt::format("{} of {}", series.rises, series.steps);
}

void print_changes(Output& output, const std::vector<query::ThingChange>& changes,
                   const query::SectionKind& kind, const DumpMarks& marks) {
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
            const MeasureText text(marks, kind, measure);
            const auto& series = change.of(measure);
            row.push_back(series ? text.last(*series) : "?");
            row.push_back(series ? text.change(series->change) : "");
            if (trends && measure == measures.front()) {
                add_trend(row, text, series);
            }
        }
        row.emplace_back(change.appeared ? kind.appeared : "");
        table.add(std::move(row));
        const MeasureText text(marks, kind, Measure::kCount);
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

void print_growth(Output& output, const std::vector<query::ThingChange>& growth,
                  const DumpMarks& marks) {
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
        const MeasureText text(marks, kind, change.ranked_by);
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

}  // namespace beamdump::render
