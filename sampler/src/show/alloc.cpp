#include "show/alloc.h"

#include <libdump/profile/profile_text.h>
#include <libdump/profile/report_parts.h>
#include <libdump/text/json_writer.h>
#include <libdump/text/table.h>

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace beamdump::sampler {
namespace {

std::string percent(double part, double whole) {
    return whole > 0 ? fmt::format("{:.1f}%", 100 * part / whole) : "-";
}

void functions(Output& output, const AllocReport& report, std::size_t most) {
    const auto& all = report.allocation;
    print_title(output, "Words allocated on heaps");
    Table table({{"WORDS", Align::kRight},
                 {"ERROR", Align::kRight},
                 {"CERTAIN", Align::kRight},
                 {"COLLECTIONS", Align::kRight},
                 {"FUNCTION"}});
    const auto sorted = sorted_functions(all);
    for (std::size_t at = 0; at < std::min(most, sorted.size()); ++at) {
        const auto& [name, by] = sorted[at];
        table.add({percent(by.words, all.words), fmt::format("{:.1f}", 100 * by.error),
                   percent(by.certain_words, by.words),
                   report.collections_seen ? percent(static_cast<double>(by.collections),
                                                     static_cast<double>(all.collections))
                                           : "-",
                   one_line(name)});
    }
    table.print(output);
    if (sorted.size() > most) {
        output.print("... {} further functions (--limit)\n", sorted.size() - most);
    }
}

void write_words(JsonWriter& json, const AllocatedBy& by, const Allocation& all) {
    json.member("certain_words", static_cast<std::uint64_t>(by.certain_words));
    json.member("words_error", static_cast<std::uint64_t>(by.error * all.words));
}

}  // namespace

std::vector<std::pair<std::string, AllocatedBy>> sorted_functions(const Allocation& allocation) {
    std::vector<std::pair<std::string, AllocatedBy>> sorted(allocation.functions.begin(),
                                                            allocation.functions.end());
    std::ranges::sort(sorted, [](const auto& one, const auto& other) {
        return std::tuple(other.second.words, other.second.collections, one.first) <
               std::tuple(one.second.words, one.second.collections, other.first);
    });
    return sorted;
}

void alloc_text(Output& output, const AllocReport& report, std::size_t most) {
    const auto& all = report.allocation;
    node_line(output, report);
    output.print(
        "{} bursts, {:.2f} s in all, {} samples a second of each scheduler's processor time "
        "in them\n",
        report.bursts, static_cast<double>(report.sampled_ns) / 1e9, report.rate);
    output.print(
        "{:.0f} words in {} intervals between samples of one process; {} others were of "
        "no use, since a heap was collected\n",
        all.words, all.intervals, all.unusable);
    if (all.scheduled_out_words > 0) {
        output.print(
            "{} of the words are of intervals in which the process was scheduled out: messages "
            "that arrived on its heap meanwhile are among them\n",
            percent(all.scheduled_out_words, all.words));
    }
    if (all.not_covered != 0) {
        output.print(
            "{} of the samples are in functions that are in no interval: their words are not "
            "known\n",
            percent(static_cast<double>(all.not_covered), static_cast<double>(all.samples)));
    }
    functions(output, report, most);
    if (report.by_stack) {
        stacks_list(output, all.stacks, most);
    }
    output.write("\n");
    output.write(
        "ERROR is in points of WORDS (95%). CERTAIN is the part of WORDS with no other "
        "function seen in the interval, and the process not scheduled out.\n");
    if (report.collections_seen) {
        output.print(
            "COLLECTIONS counts those that began in Erlang code, or after a BIF that it called: "
            "{} in all.\n",
            all.collections);
    }
    output.write("Not seen: large binaries, and messages and terms that arrive in fragments.\n");
    lost_line(output, report);
    not_sampled_lines(output, report);
}

ProfileTerms alloc_terms(const AllocReport& report, std::string exporter) {
    return {.title = fmt::format("{}: words allocated on heaps by stack", report.node),
            .exporter = std::move(exporter),
            .type = "words",
            .time_us = report.began_us};
}

void alloc_json(Output& output, const AllocReport& report) {
    const auto& all = report.allocation;
    JsonWriter json(output, "beamdump.alloc/1");
    write_node(json, report);
    json.member("began_us", report.began_us);
    json.member("took_ns", report.took_ns);
    json.member("rate", report.rate);
    json.member("bursts", report.bursts);
    json.member("sampled_ns", report.sampled_ns);
    json.member("samples", report.samples);
    json.member("held_up_samples", report.held_up);
    json.member("lost", report.lost);
    json.member("intervals", all.intervals);
    json.member("unusable_intervals", all.unusable);
    json.member("interval_ns", static_cast<std::int64_t>(all.seconds * 1e9));
    json.member("words", static_cast<std::uint64_t>(all.words));
    json.member("certain_words", static_cast<std::uint64_t>(all.certain_words));
    json.member("scheduled_out_words", static_cast<std::uint64_t>(all.scheduled_out_words));
    json.member("function_samples", all.samples);
    json.member("not_covered_samples", all.not_covered);
    if (report.collections_seen) {
        json.member("collections", all.collections);
    }
    write_objects(json, "functions", sorted_functions(all), [&](const auto& entry) {
        json.member("function", entry.first);
        json.member("words", static_cast<std::uint64_t>(entry.second.words));
        write_words(json, entry.second, all);
        if (report.collections_seen) {
            json.member("collections", entry.second.collections);
        }
    });
    if (report.by_stack) {
        write_stacks(json, all.stacks, "words",
                     [&](std::uint32_t node) { write_words(json, all.by_stack.at(node), all); });
    }
    write_not_sampled(json, report);
    write_remarks(json, report);
    json.finish();
}

}  // namespace beamdump::sampler
