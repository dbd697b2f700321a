#include "show/waits.h"

#include "show/stacks.h"

#include <libdump/profile/report_parts.h>

#include <algorithm>

namespace beamdump::sampler {
namespace {

std::string seconds_of(std::int64_t nanoseconds) {
    return fmt::format("{:.1f} s", static_cast<double>(nanoseconds) / 1e9);
}

std::vector<std::string> count_cells(const WaitCount& count) {
    return {fmt::format("{}", count.waiting), fmt::format("{}", count.not_run),
            seconds_of(count.shortest_ns), seconds_of(count.longest_ns)};
}

void places_table(Output& output, const WaitsReport& report, std::size_t most) {
    print_title(output, "Innermost functions");
    Table table({{"WAITING", Align::kRight},
                 {"NOT RUN", Align::kRight},
                 {"SHORTEST", Align::kRight},
                 {"LONGEST", Align::kRight},
                 {"FUNCTION"}});
    const auto sorted = sorted_waits(report.by_function);
    for (std::size_t at = 0; at < std::min(most, sorted.size()); ++at) {
        auto cells = count_cells(sorted[at].second);
        cells.push_back(one_line(sorted[at].first));
        table.add(std::move(cells));
    }
    table.print(output);
    if (sorted.size() > most) {
        output.print("... {} further functions (--limit)\n", sorted.size() - most);
    }
}

void waits_list(Output& output, const WaitsReport& report, std::size_t most) {
    constexpr std::size_t kFrames = 12;
    print_title(output, report.by == SamplesBy::kNone ? "Stacks" : "Stacks, the group last");
    const auto sorted = sorted_waits(report.by_stack);
    for (std::size_t at = 0; at < std::min(most, sorted.size()); ++at) {
        const auto& count = sorted[at].second;
        output.print("{} waiting, {} not run, {} to {}\n", count.waiting, count.not_run,
                     seconds_of(count.shortest_ns), seconds_of(count.longest_ns));
        auto places = report.stacks.stack(sorted[at].first);
        std::ranges::reverse(places);
        for (std::size_t frame = 0; frame < std::min(places.size(), kFrames); ++frame) {
            output.print("    {}\n", one_line(report.stacks.places()[places[frame]].function));
        }
        if (places.size() > kFrames) {
            output.print("    ... {} further functions\n", places.size() - kFrames);
        }
    }
    if (sorted.size() > most) {
        output.print("... {} further stacks (--limit, --format, --json)\n", sorted.size() - most);
    }
}

void write_count(JsonWriter& json, const WaitCount& count) {
    json.member("waiting", count.waiting);
    json.member("not_run", count.not_run);
    json.member("shortest_ns", count.shortest_ns);
    json.member("longest_ns", count.longest_ns);
}

void write_wait_stack(JsonWriter& json, const WaitsReport& report, std::uint32_t node) {
    auto places = report.stacks.stack(node);
    auto outermost = places.begin();
    if (report.by != SamplesBy::kNone) {
        json.member("group", report.stacks.places()[*outermost].function);
        ++outermost;
    }
    json.begin_array("frames");
    for (auto place = places.end(); place != outermost;) {
        --place;
        json.value(report.stacks.places()[*place].function);
    }
    json.end_array();
}

}  // namespace

void waits_text(Output& output, const WaitsReport& report, std::size_t most) {
    node_line(output, report);
    output.print(
        "{} processes wait; all were read {} times. NOT RUN: not seen to have run since the first "
        "time.\nTimes: for at least how long they are known to wait without having run.\n",
        report.stacks.total(), report.readings);
    places_table(output, report, most);
    waits_list(output, report, most);
    for (const auto& [status, count] : report.not_waiting) {
        output.print("{} processes do not wait: {}\n", count, status);
    }
    for (const auto& [miss, count] : report.missed) {
        output.print("{} processes could not be read: {}\n", count, miss_name(miss));
    }
    if (report.left_out != 0) {
        output.print("{} processes wait at further stacks, which are too many\n", report.left_out);
    }
    if (report.not_followed != 0) {
        output.print("{} processes are too many to follow: no time is known of them\n",
                     report.not_followed);
    }
}

ProfileTerms waits_terms(const WaitsReport& report, std::string exporter) {
    return {.title = fmt::format("{}: waiting processes by stack", report.node),
            .exporter = std::move(exporter),
            .type = "processes",
            .time_us = report.began_us};
}

void waits_json(Output& output, const WaitsReport& report) {
    JsonWriter json(output, "beamdump.off-cpu/1");
    write_node(json, report);
    json.member("began_us", report.began_us);
    json.member("took_ns", report.took_ns);
    json.member("processor_ns", report.processor_ns);
    json.member("readings", report.readings);
    json.member("expected_ns", report.expected_ns);
    json.member("waiting", report.stacks.total());
    write_objects(json, "functions", sorted_waits(report.by_function), [&](const auto& entry) {
        json.member("function", entry.first);
        write_count(json, entry.second);
    });
    write_objects(json, "stacks", sorted_waits(report.by_stack), [&](const auto& entry) {
        write_count(json, entry.second);
        write_wait_stack(json, report, entry.first);
    });
    json.begin_object("not_waiting");
    for (const auto& [status, count] : report.not_waiting) {
        json.member(status, count);
    }
    json.end_object();
    json.begin_object("not_shown");
    for (const auto& [miss, count] : report.missed) {
        json.member(miss_name(miss), count);
    }
    json.end_object();
    json.member("left_out", report.left_out);
    json.member("not_followed", report.not_followed);
    write_remarks(json, report);
    json.finish();
}

}  // namespace beamdump::sampler
