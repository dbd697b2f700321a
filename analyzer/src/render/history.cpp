#include "render/history.h"

#include "render/shared/json.h"
#include "render/shared/layout.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <libdump/profile/report_parts.h>
#include <libdump/text/compact_json.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <variant>
#include <vector>

namespace beamdump::render {
namespace {

using query::ColumnKind;
using query::History;
using query::HistoryOfProcess;
using query::HistoryReading;

using PlotValues = std::vector<std::pair<std::uint64_t, std::optional<std::uint64_t>>>;
using PlotTime = std::pair<std::uint64_t, std::uint64_t>;

constexpr std::size_t kPlotWidth = 40;
constexpr std::size_t kSmallPlotWidth = 24;

std::string plot_value_text(ColumnKind kind, std::uint64_t value) {
    return query::is_bytes(kind)         ? bytes_text(value)
           : kind == ColumnKind::kTenths ? tenths_text(value)
                                         : count_text(value);
}

std::string plot_change_text(ColumnKind kind, std::uint64_t first, std::uint64_t last) {
    const auto change = static_cast<std::int64_t>(last - first);
    if (query::is_bytes(kind)) {
        return byte_change_text(change);
    }
    return kind == ColumnKind::kTenths ? std::string() : count_change_text(change);
}

std::string clock_text(std::uint64_t at_us) {
    return time_text(static_cast<std::int64_t>(at_us));
}

/// The earliest and the latest time. A clock that was set back passes some times twice.
PlotTime time_of(const History& history) {
    const auto [least, most] = std::ranges::minmax(history.readings, {}, &HistoryReading::at_us);
    return {least.at_us, most.at_us};
}

std::string difference_text(std::uint64_t earlier, std::uint64_t later) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 50U;
    return duration_text(static_cast<std::int64_t>(std::min(later - earlier, kMost)) * 1000);
}

std::string break_text(const query::HistoryBreak& found) {
    return found.set_back()
               ? fmt::format("The machine's clock was set back after {}, by {} at least.",
                             clock_text(found.after_us),
                             difference_text(found.at_us, found.after_us))
               : fmt::format(
                     "There is no reading from {} to {}: beamdump-watch or the machine did "
                     "not run, or the clock was set forward.",
                     clock_text(found.after_us), clock_text(found.at_us));
}

void print_breaks(Output& output, const History& history) {
    constexpr std::size_t kShown = 5;
    const auto breaks = query::breaks_of(history);
    for (const auto& found : std::span(breaks).first(std::min(kShown, breaks.size()))) {
        output.print("{}\n", break_text(found));
    }
    if (breaks.size() > kShown) {
        output.print("Readings do not follow one another {} more times.\n",
                     count_text(breaks.size() - kShown));
    }
}

void print_quantities(Output& output, const History& history) {
    Table table({{"WHAT"},
                 {"FIRST", Align::kRight},
                 {"LEAST", Align::kRight},
                 {"MOST", Align::kRight},
                 {"LAST", Align::kRight},
                 {"CHANGE", Align::kRight},
                 {"OVER TIME"}});
    for (const auto& field : query::history_fields()) {
        if (field.column.title.empty()) {
            continue;
        }
        PlotValues values;
        std::vector<std::uint64_t> known;
        for (const auto& reading : history.readings) {
            const auto cell = field.get(reading);
            const auto* const number = std::get_if<std::uint64_t>(&cell);
            values.emplace_back(reading.at_us,
                                number == nullptr ? std::nullopt : std::optional(*number));
            if (number != nullptr) {
                known.push_back(*number);
            }
        }
        if (known.empty()) {
            continue;
        }
        const auto text = [&](std::uint64_t value) {
            return plot_value_text(field.column.kind, value);
        };
        const auto [least, most] = std::ranges::minmax(known);
        table.add({std::string(field.column.title), text(known.front()), text(least), text(most),
                   text(known.back()),
                   plot_change_text(field.column.kind, known.front(), known.back()),
                   sparkline(values, time_of(history), kPlotWidth)});
    }
    table.print(output);
}

using ProcessAmount = std::optional<std::uint64_t> query::HistoryProcess::*;

/// The first and the last value that is known.
std::optional<std::pair<std::uint64_t, std::uint64_t>> ends_of(const HistoryOfProcess& process,
                                                               ProcessAmount amount) {
    std::optional<std::pair<std::uint64_t, std::uint64_t>> ends;
    for (const auto& seen : process.seen) {
        if (const auto value = seen.*amount) {
            ends = {ends ? ends->first : *value, *value};
        }
    }
    return ends;
}

/// `ranked`: what each is ranked by.
void print_processes(Output& output, const History& history, std::string_view title,
                     ProcessAmount amount, ColumnKind kind, std::size_t most,
                     std::vector<std::pair<std::uint64_t, const HistoryOfProcess*>> ranked) {
    if (ranked.empty()) {
        return;
    }
    std::ranges::stable_sort(ranked, std::ranges::greater(),
                             &std::pair<std::uint64_t, const HistoryOfProcess*>::first);
    print_title(output, title);
    Table table({{"PID"},
                 {"NAME", Align::kLeft, true},
                 {"FIRST", Align::kRight},
                 {"LAST", Align::kRight},
                 {"CHANGE", Align::kRight},
                 {"OVER TIME"}});
    for (const auto& [rank, process] : std::span(ranked).first(std::min(most, ranked.size()))) {
        PlotValues values;
        for (const auto& seen : process->seen) {
            values.emplace_back(seen.at_us, seen.*amount);
        }
        const auto ends = ends_of(*process, amount);
        table.add({process->pid, process->name.value_or(process->initial_call.value_or("")),
                   ends ? plot_value_text(kind, ends->first) : "",
                   ends ? plot_value_text(kind, ends->second) : "",
                   ends ? plot_change_text(kind, ends->first, ends->second) : "",
                   sparkline(values, time_of(history), kSmallPlotWidth)});
    }
    table.print(output);
}

/// How many profiles are the last ones; 0: there is one, or none.
std::size_t last_profiles(const History& history) {
    constexpr std::size_t kMostLast = 5;
    return std::min(kMostLast, history.profiles.size() / 2);
}

std::string time_of_profiles(std::span<const query::HistoryProfile> profiles) {
    std::uint64_t took_us = 0;
    for (const auto& profile : profiles) {
        took_us += profile.took_us;
    }
    return difference_text(0, took_us);
}

/// The plot of a function that has no sample in any profile.
PlotValues without_samples(const History& history) {
    constexpr std::size_t kMostPlaces = 1000;
    PlotValues values;
    const auto step = history.profiles.size() / kMostPlaces + 1;
    for (std::size_t at = 0; at < history.profiles.size(); at += step) {
        values.emplace_back(history.profiles[at].at_us, 0);
    }
    return values;
}

void print_functions(Output& output, const History& history, std::size_t most) {
    if (history.profiles.empty()) {
        return;
    }
    const std::span profiles(history.profiles);
    const auto last = last_profiles(history);
    std::uint64_t samples = 0;
    std::uint64_t left_out = 0;
    std::uint64_t lost = 0;
    for (const auto& profile : profiles) {
        samples += profile.samples + profile.left_out;
        left_out += profile.left_out;
        lost += profile.lost;
    }
    print_title(output, "Functions that took most processor time");
    output.print(
        "In percent of one processor: {} in {} of {} in all{}.\n", counted(samples, "sample"),
        counted(profiles.size(), "profile"), time_of_profiles(profiles),
        last == 0 ? std::string()
                  : fmt::format("; LAST is of the last {}", time_of_profiles(profiles.last(last))));
    if (left_out != 0) {
        output.print(
            "{} of them count for no function: the recording keeps the stacks that are "
            "most frequent.\n",
            count_text(left_out));
    }
    if (lost != 0) {
        output.print("{}\n", lost_sentence(lost));
    }
    const auto functions = query::functions_of(history, last);
    if (functions.empty()) {
        return;
    }
    Table table({{"SELF", Align::kRight},
                 {"LAST", Align::kRight},
                 {"TOTAL", Align::kRight},
                 {"FUNCTION", Align::kLeft, true},
                 {"OVER TIME"}});
    const auto none = without_samples(history);
    for (const auto& function : std::span(functions).first(std::min(most, functions.size()))) {
        auto values = none;
        values.insert(values.end(), function.over_time.begin(), function.over_time.end());
        table.add({tenths_text(function.self), last == 0 ? "" : tenths_text(function.last),
                   tenths_text(function.total), function.function,
                   sparkline(values, time_of(history), kSmallPlotWidth)});
    }
    table.print(output);
}

}  // namespace

std::string sparkline(
    std::span<const std::pair<std::uint64_t, std::optional<std::uint64_t>>> values,
    std::pair<std::uint64_t, std::uint64_t> time, std::size_t width) {
    static constexpr std::array<std::string_view, 8> kHeights = {"▁", "▂", "▃", "▄",
                                                                 "▅", "▆", "▇", "█"};
    std::vector<std::optional<std::uint64_t>> parts(width);
    std::optional<std::uint64_t> least;
    std::optional<std::uint64_t> most;
    const auto [begin, end] = time;
    for (const auto& [at, value] : values) {
        if (!value || width == 0) {
            continue;
        }
        least = std::min(least.value_or(*value), *value);
        most = std::max(most.value_or(*value), *value);
        // The clock may have been set back, and a reading of all begins before others.
        const auto from_begin = std::clamp(at, begin, std::max(begin, end)) - begin;
        const auto whole = std::max<std::uint64_t>(end > begin ? end - begin : 0, 1);
        const auto place =
            static_cast<std::size_t>(static_cast<double>(from_begin) / static_cast<double>(whole) *
                                     static_cast<double>(width - 1));
        auto& part = parts[std::min(place, width - 1)];
        part = std::max(part.value_or(0), *value);
    }
    std::string plot;
    for (const auto& part : parts) {
        if (!part) {
            plot += ' ';
            continue;
        }
        const auto height = *most == *least ? 0.0
                                            : static_cast<double>(*part - *least) /
                                                  static_cast<double>(*most - *least) *
                                                  static_cast<double>(kHeights.size() - 1);
        plot += kHeights[static_cast<std::size_t>(height)];
    }
    return plot;
}

std::string history_end_text(const History& history) {
    const auto last = history.readings.back().at_us;
    if (history.node_ended_us) {
        const auto ended = *history.node_ended_us;
        auto text = ended < last
                        ? fmt::format(
                              "The node had ended by {}; the machine's clock was set back since "
                              "the last reading.",
                              clock_text(ended))
                        : fmt::format("The node had ended by {}; the last reading is {} older.",
                                      clock_text(ended), difference_text(last, ended));
        if (history.oom_kills_at_end.value_or(0) > 0) {
            text += fmt::format(
                " Just before, the kernel ended {} of its cgroup for lack of memory (OOM kill).",
                counted(*history.oom_kills_at_end, "process", "processes"));
        }
        return text;
    }
    if (history.watcher_ended_us) {
        return fmt::format("beamdump-watch ended at {}, when the node still ran.",
                           clock_text(*history.watcher_ended_us));
    }
    return history.recording
               ? fmt::format(
                     "The recording has no end: beamdump-watch goes on with it, or was killed. "
                     "When the node ended is not known; it ran at {}.",
                     clock_text(last))
               : "The dump was taken after the last reading.";
}

void history_text(Output& output, const History& history, std::size_t most) {
    print_layout_notice(output, history.dump.layout);
    const auto [begin, end] = time_of(history);
    output.print("{}{}: {} from {} to {}\n",
                 one_line(history.dump.node_name.value_or("a node of unknown name")),
                 history.os_pid ? fmt::format(" (process {})", *history.os_pid) : std::string(),
                 counted(history.readings.size(), "reading"), clock_text(begin), clock_text(end));
    output.print("{}\n", history_end_text(history));
    print_breaks(output, history);
    output.print("\n");
    history_tables(output, history, most);
}

void history_tables(Output& output, const History& history, std::size_t most) {
    print_quantities(output, history);
    std::vector<std::pair<std::uint64_t, const HistoryOfProcess*>> by_heap;
    std::vector<std::pair<std::uint64_t, const HistoryOfProcess*>> by_messages;
    std::vector<std::pair<std::uint64_t, const HistoryOfProcess*>> largest;
    for (const auto& process : history.processes) {
        if (const auto growth = process.heap_growth()) {
            by_heap.emplace_back(*growth, &process);
        }
        if (const auto growth = process.messages_growth()) {
            by_messages.emplace_back(*growth, &process);
        }
        const auto& last = process.seen.back();
        if (!history.scans_us.empty() && last.at_us == history.scans_us.back() && last.heap) {
            largest.emplace_back(*last.heap, &process);
        }
    }
    print_processes(output, history, "Heaps that grew most", &query::HistoryProcess::heap,
                    ColumnKind::kBytes, most, std::move(by_heap));
    print_processes(output, history, "Mailboxes that grew most", &query::HistoryProcess::messages,
                    ColumnKind::kCount, most, std::move(by_messages));
    print_processes(output, history, "Largest heaps of the last reading of all processes",
                    &query::HistoryProcess::heap, ColumnKind::kBytes, most, std::move(largest));
    print_functions(output, history, most);
    if (history.scans_us.empty()) {
        output.print("\nNo reading of all processes was complete yet.\n");
    }
}

void history_json(Output& output, const History& history) {
    JsonWriter json(output, "beamdump.history/1");
    write_dump(json, "dump", history.dump);
    json.member("recording", history.recording);
    json.member("end", history_end_text(history));
    json.member("node_ended_us", history.node_ended_us);
    json.member("watcher_ended_us", history.watcher_ended_us);
    json.member("oom_kills_at_end", history.oom_kills_at_end);
    write_objects(json, "breaks", query::breaks_of(history), [&](const query::HistoryBreak& found) {
        json.member("after_us", found.after_us);
        json.member("at_us", found.at_us);
        json.member("clock_set_back", found.set_back());
    });
    write_history(json, history);
    json.finish();
}

void write_history(JsonWriter& json, const History& history) {
    write_objects(json, "readings", history.readings, [&](const HistoryReading& reading) {
        write_fields(json, query::history_fields(), reading);
    });
    write_objects(json, "processes", history.processes, [&](const HistoryOfProcess& process) {
        json.member("pid", process.pid);
        json.member("name", process.name);
        json.member("initial_call", process.initial_call);
        json.member("heap_growth", process.heap_growth());
        json.member("messages_growth", process.messages_growth());
        write_objects(json, "seen", process.seen, [&](const query::HistoryProcess& seen) {
            write_fields(json, query::history_process_fields(), seen);
        });
    });
    if (history.profiles.empty()) {
        return;
    }
    write_objects(json, "profiles", history.profiles, [&](const query::HistoryProfile& profile) {
        json.member("at_us", profile.at_us);
        json.member("took_us", profile.took_us);
        json.member("rate", profile.rate);
        json.member("samples", profile.samples);
        json.member("lost", profile.lost);
        json.member("left_out", profile.left_out);
        write_objects(json, "functions", profile.functions,
                      [&](const query::HistoryFunction& function) {
                          write_fields(json, query::history_function_fields(), function);
                      });
    });
}

void history_lines(Output& output, const History& history) {
    CompactJson json(output);
    const auto line = [&](std::string_view kind, const auto& members) {
        json.begin_object();
        json.member("kind", kind);
        if (history.dump.node_name) {
            json.member("node", std::string_view(*history.dump.node_name));
        }
        members();
        json.end_object();
        json.end_line();
    };
    const auto cells = [&](const auto& fields, const auto& thing) {
        for (const auto& field : fields) {
            std::visit(
                [&](const auto& value) {
                    if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
                        json.member(field.column.name, value);
                    }
                },
                field.view(thing));
        }
    };
    for (const auto& reading : history.readings) {
        line("reading", [&] { cells(query::history_fields(), reading); });
    }
    for (const auto& process : history.processes) {
        for (const auto& seen : process.seen) {
            line("process", [&] { cells(query::history_process_fields(), seen); });
        }
    }
    for (const auto& profile : history.profiles) {
        for (const auto& function : profile.functions) {
            line("function", [&] { cells(query::history_function_fields(), function); });
        }
    }
    line("end", [&] {
        json.member("sentence", std::string_view(history_end_text(history)));
        for (const auto& [name, known] :
             {std::pair{"node_ended_us", history.node_ended_us},
              std::pair{"watcher_ended_us", history.watcher_ended_us},
              std::pair{"oom_kills_at_end", history.oom_kills_at_end}}) {
            if (known) {
                json.member(name, *known);
            }
        }
    });
}

}  // namespace beamdump::render
