#include "show/top.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/terminal_text.h>
#include <libdump/format/owner_id.h>
#include <libdump/text/compact_json.h>
#include <libdump/text/table.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <ctime>

namespace beamdump::sampler {
namespace {

std::string known(const std::optional<double>& number) {
    return number ? fmt::format("{:.0f}", *number == 0 ? 0.0 : *number) : "-";
}

std::string known_bytes(const std::optional<double>& number) {
    if (!number) {
        return "-";
    }
    return (*number < 0 ? "-" : "") +
           bytes_text(static_cast<std::uint64_t>(std::llround(std::abs(*number))));
}

/// "5 ms of processor time" or what else is not shown of all.
std::string counted_line(const TopReport& report) {
    auto line = fmt::format(
        "{}, {:.1f} s since the reading before, {:.0f} ms of this program's "
        "processor time; sorted by {}",
        counted(report.processes, "process", "processes"), report.seconds,
        static_cast<double>(report.cost_ns) / 1e6, top_sort_name(report.sort));
    if (report.left_out != 0) {
        line += fmt::format("; {} further ones were not read", report.left_out);
    }
    if (report.searched) {
        line += fmt::format("; the filter saw the first {}", *report.searched);
    }
    return line;
}

/// "schedulers 12% 100%, dirty CPU 0%": what a thread ran of the time.
std::string schedulers_line(const TopReport& report) {
    std::string normal;
    std::map<std::string_view, double> sums;
    for (const auto& [group, part] : report.utilisation) {
        if (group.second == 0) {
            sums["other threads"] += part;
        } else if (group.first == records::SCHEDULER_KIND_NORMAL) {
            normal += fmt::format(" {:.0f}%", 100 * part);
        } else {
            sums[group.first == records::SCHEDULER_KIND_DIRTY_CPU ? "dirty CPU" : "dirty I/O"] +=
                part;
        }
    }
    auto line = fmt::format("processor time: schedulers{}", normal.empty() ? " -" : normal);
    for (const auto& [name, part] : sums) {
        line += fmt::format(", {} {:.0f}%", name, 100 * part);
    }
    return line;
}

std::string queues_line(const TopReport& report) {
    std::string line = "run queues:";
    for (const auto& [group, length] : report.load.queues) {
        line += group.first == records::SCHEDULER_KIND_NORMAL ? fmt::format(" {}", length)
                : group.first == records::SCHEDULER_KIND_DIRTY_CPU
                    ? fmt::format(", dirty CPU {}", length)
                    : fmt::format(", dirty I/O {}", length);
    }
    return report.load.queues.empty() ? line + " -" : line;
}

std::string memory_line(const TopReport& report) {
    auto line =
        fmt::format("memory: resident {}",
                    report.load.resident_bytes ? bytes_text(*report.load.resident_bytes) : "-");
    for (const auto* name : {"total", "processes", "system", "binary", "ets", "code"}) {
        const auto found = report.load.memory.find(name);
        line += fmt::format(", {} {}", name,
                            found == report.load.memory.end() ? "-" : bytes_text(found->second));
    }
    return line;
}

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

std::array<std::string, kTopColumns> top_cells(const TopRow& row) {
    const auto& [counts, reductions, heap_growth, queue_growth] = row.rates;
    const auto& process = row.process;
    const auto name = process.registered ? process.registered : process.initial_call;
    return {
        pid_text(process.owner_id),
        one_line(name.value_or("-")),
        known(reductions),
        counts.heap_bytes ? bytes_text(*counts.heap_bytes) : "-",
        known_bytes(heap_growth),
        counts.messages ? fmt::format("{}", *counts.messages) : "-",
        known(queue_growth),
        one_line(fmt::format("{}, {}", process.status, process.current_function.value_or("-")))};
}

std::vector<std::string> top_head(const TopReport& report) {
    return {
        one_line(fmt::format("{} (process {}, OTP {}), {:%Y-%m-%d %H:%M:%S} UTC", report.node,
                             report.pid, report.otp_release,
                             fmt::gmtime(static_cast<std::time_t>(report.read_us / 1'000'000)))),
        counted_line(report), schedulers_line(report), queues_line(report), memory_line(report)};
}

void top_text(Output& output, const TopReport& report) {
    for (const auto& line : top_head(report)) {
        print_line(output, line);
    }
    std::vector<Table::Column> columns;
    for (std::size_t at = 0; at < kTopColumns; ++at) {
        columns.push_back({std::string(kTopTitles.at(at)),
                           at >= 2 && at + 1 < kTopColumns ? Align::kRight : Align::kLeft});
    }
    Table table(std::move(columns));
    for (const auto& row : report.rows) {
        const auto cells = top_cells(row);
        table.add({cells.begin(), cells.end()});
    }
    table.print(output);
    output.write("\n");
}

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
