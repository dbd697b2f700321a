#pragma once

#include <libdump/base/terminal_text.h>
#include <libdump/profile/stack_tree.h>
#include <libdump/text/json_writer.h>
#include <libdump/text/output.h>
#include <libdump/text/table.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

namespace beamdump {

// What reports begin and end with. `Report`: ProfileReport or AllocReport; StacksReport has a node
// and remarks too.

/// "rabbit@host (process 1234, OTP 27), 2026-11-25 02:10:43 UTC, 5.0 s"
template <typename Report>
void node_line(Output& output, const Report& report) {
    output.print("{} (process {}, OTP {}), {:%Y-%m-%d %H:%M:%S} UTC, {:.1f} s\n",
                 one_line(report.node), report.pid, one_line(report.otp_release),
                 fmt::gmtime(static_cast<std::time_t>(report.began_us / 1'000'000)),
                 static_cast<double>(report.took_ns) / 1e9);
}

inline std::string lost_sentence(std::uint64_t lost) {
    return fmt::format("{} samples were lost: they were not read soon enough", lost);
}

inline std::string not_sampled_sentence(std::string_view reason, std::uint64_t threads) {
    return fmt::format("{} threads were not sampled: {}", threads, reason);
}

inline std::string left_out_sentence(std::uint64_t samples) {
    return fmt::format(
        "the last {} samples are left out: there were more different stacks than are kept",
        samples);
}

template <typename Report>
void lost_line(Output& output, const Report& report) {
    if (report.lost != 0) {
        output.print("{}\n", lost_sentence(report.lost));
    }
}

template <typename Report>
void not_sampled_lines(Output& output, const Report& report) {
    for (const auto& [reason, count] : report.not_sampled) {
        output.print("{}\n", one_line(not_sampled_sentence(reason, count)));
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

/// Stacks with their weights, called `weight`, and frames, the outermost first. `more(node)` writes
/// what else is known of one.
template <typename More>
void write_stacks(JsonWriter& json, const StackTree& stacks, std::string_view weight, More more) {
    json.begin_array("stacks");
    for (std::uint32_t at = 0; at < stacks.nodes().size(); ++at) {
        if (stacks.nodes()[at].weight == 0) {
            continue;
        }
        json.begin_object();
        json.member(weight, stacks.nodes()[at].weight);
        more(at);
        json.begin_array("frames");
        for (const auto place : stacks.stack(at)) {
            json.value(stacks.places()[place].function);
        }
        json.end_array();
        json.end_object();
    }
    json.end_array();
}

}  // namespace beamdump
