#include "show/stacks_text.h"
#include "show/waits_text.h"

#include <libdump/profile/report_parts.h>

namespace beamdump::sampler {
namespace {

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
