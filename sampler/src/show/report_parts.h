#pragma once

#include <libdump/text/json_writer.h>
#include <libdump/text/output.h>
#include <libdump/text/table.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace beamdump::sampler {

// What reports begin and end with. `Report`: ProfileReport or AllocReport; StacksReport has a node
// and remarks too.

/// "rabbit@host (process 1234, OTP 27), 2026-11-25 02:10:43 UTC, 5.0 s"
template <typename Report>
void node_line(Output& output, const Report& report) {
    output.print("{} (process {}, OTP {}), {:%Y-%m-%d %H:%M:%S} UTC, {:.1f} s\n", report.node,
                 report.pid, report.otp_release,
                 fmt::gmtime(static_cast<std::time_t>(report.began_us / 1'000'000)),
                 static_cast<double>(report.took_ns) / 1e9);
}

template <typename Report>
void lost_line(Output& output, const Report& report) {
    if (report.lost != 0) {
        output.print("{} samples were lost: they were not read soon enough\n", report.lost);
    }
}

template <typename Report>
void not_sampled_lines(Output& output, const Report& report) {
    for (const auto& [reason, count] : report.not_sampled) {
        output.print("{} threads were not sampled: {}\n", count, one_line(reason));
    }
}

template <typename Report>
void write_node(JsonWriter& json, const Report& report) {
    json.begin_object("node");
    json.member("name", report.node);
    json.member("os_pid", report.pid);
    json.member("otp_release", report.otp_release);
    json.end_object();
}

template <typename Report>
void write_not_sampled(JsonWriter& json, const Report& report) {
    write_objects(json, "not_sampled", report.not_sampled, [&](const auto& entry) {
        json.member("reason", entry.first);
        json.member("threads", entry.second);
    });
}

template <typename Report>
void write_remarks(JsonWriter& json, const Report& report) {
    json.begin_array("remarks");
    for (const auto& remark : report.remarks) {
        json.value(remark);
    }
    json.end_array();
}

}  // namespace beamdump::sampler
