#include "query/node/time_span.h"
#include "render/diff/diff.h"
#include "render/diff/series_json.h"
#include "render/shared/json.h"
#include "render/shared/process_counts.h"

#include <cmath>
#include <string>
#include <vector>

namespace beamdump::render {

namespace {

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
