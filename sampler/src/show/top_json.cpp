#include "show/top_text.h"

#include <libdump/format/owner_id.h>
#include <libdump/text/compact_json.h>

#include <cmath>

namespace beamdump::sampler {
namespace {

template <typename Value>
void known_member(CompactJson& json, std::string_view name, const std::optional<Value>& value) {
    if (value) {
        json.member(name, *value);
    }
}

void rate(CompactJson& json, std::string_view name, const std::optional<double>& value) {
    if (value) {
        json.member(name, std::int64_t{std::llround(*value)});
    }
}

std::string_view group_kind(const ThreadGroup& group) {
    switch (group.first) {
        case records::SCHEDULER_KIND_DIRTY_CPU:
            return "dirty_cpu";
        case records::SCHEDULER_KIND_DIRTY_IO:
            return "dirty_io";
        default:
            return "normal";
    }
}

void node_members(CompactJson& json, const TopReport& report) {
    json.key("schedulers");
    json.begin_array();
    for (const auto& [group, part] : report.utilisation) {
        json.begin_object();
        json.member("kind", group.second == 0 ? "other" : group_kind(group));
        if (group.second != 0) {
            json.member("number", group.second);
        }
        json.member("ran_permille", static_cast<std::uint64_t>(std::llround(1000 * part)));
        json.end_object();
    }
    json.end_array();
    json.key("run_queues");
    json.begin_array();
    for (const auto& [group, length] : report.load.queues) {
        json.begin_object();
        json.member("kind", group_kind(group));
        if (group.second != 0) {
            json.member("number", group.second);
        }
        json.member("length", length);
        json.end_object();
    }
    json.end_array();
    known_member(json, "resident_bytes", report.load.resident_bytes);
    json.key("memory");
    json.begin_object();
    for (const auto& [name, bytes] : report.load.memory) {
        json.member(name, bytes);
    }
    json.end_object();
}

void process_members(CompactJson& json, const TopRow& row) {
    const auto& [counts, reductions, heap_growth, queue_growth] = row.rates;
    const auto& process = row.process;
    json.begin_object();
    json.member("pid", std::string_view(pid_text(process.owner_id)));
    const auto text = [&](std::string_view name, const std::optional<std::string>& value) {
        if (value) {
            json.member(name, std::string_view(*value));
        }
    };
    text("registered_name", process.registered);
    text("initial_call", process.initial_call);
    text("current_function", process.current_function);
    json.member("status", std::string_view(process.status));
    json.member("reductions", counts.reductions);
    known_member(json, "heap_bytes", counts.heap_bytes);
    known_member(json, "message_queue_len", counts.messages);
    rate(json, "reductions_per_second", reductions);
    rate(json, "heap_bytes_per_second", heap_growth);
    rate(json, "messages_per_second", queue_growth);
    json.end_object();
}

}  // namespace

void top_json(Output& output, const TopReport& report) {
    CompactJson json(output);
    json.begin_object();
    json.member("schema", std::string_view("beamdump.top/1"));
    json.key("node");
    json.begin_object();
    json.member("name", std::string_view(report.node));
    json.member("os_pid", std::uint64_t(report.pid));
    json.member("otp_release", std::string_view(report.otp_release));
    json.end_object();
    json.member("read_us", report.read_us);
    json.member("interval_ms", std::int64_t{std::llround(report.seconds * 1000)});
    json.member("cost_ns", report.cost_ns);
    json.member("sort", top_sort_name(report.sort));
    json.member("processes", report.processes);
    json.member("unreadable", report.unreadable);
    json.member("left_out", report.left_out);
    known_member(json, "searched", report.searched);
    node_members(json, report);
    json.key("rows");
    json.begin_array();
    for (const auto& row : report.rows) {
        process_members(json, row);
    }
    json.end_array();
    json.end_object();
    json.end_line();
}

}  // namespace beamdump::sampler
