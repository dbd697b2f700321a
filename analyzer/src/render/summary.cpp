#include "render/summary.h"

#include "render/memory.h"
#include "render/processes.h"
#include "render/shared/json.h"
#include "render/shared/known.h"
#include "render/shared/layout.h"
#include "render/shared/starts.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

namespace beamdump::render {

namespace {

using query::Summary;

constexpr std::string_view kUnknown = "unknown";

/// The known parts of a sentence, separated by commas.
class Phrase {
  public:
    Phrase& add(std::string part) {
        parts_.push_back(std::move(part));
        return *this;
    }
    [[nodiscard]] std::string text() const {
        return parts_.empty() ? std::string(kUnknown) : fmt::format("{}", fmt::join(parts_, ", "));
    }

  private:
    std::vector<std::string> parts_;
};

std::string release_text(const query::NodeSummary& node) {
    Phrase phrase;
    if (node.otp_release) {
        phrase.add("Erlang/OTP " + node.otp_version.value_or(*node.otp_release));
    }
    if (node.erts_version) {
        phrase.add("ERTS " + *node.erts_version);
    }
    if (node.jit) {
        phrase.add(*node.jit ? "JIT" : "interpreter");
    }
    return phrase.text();
}

std::string schedulers_text(const query::NodeSummary& node) {
    Phrase phrase;
    if (node.schedulers) {
        phrase.add(count_text(*node.schedulers));
    }
    if (node.dirty_cpu_schedulers) {
        phrase.add(count_text(*node.dirty_cpu_schedulers) + " dirty CPU");
    }
    if (node.dirty_io_schedulers) {
        phrase.add(count_text(*node.dirty_io_schedulers) + " dirty I/O");
    }
    return phrase.text();
}

std::string uptime_text(const Summary& summary) {
    std::string text = summary.node.uptime_us ? duration_text(*summary.node.uptime_us * 1000)
                                              : std::string(kUnknown);
    if (summary.dump.captured_us) {
        text += fmt::format(" at capture, {}", time_text(*summary.dump.captured_us));
    }
    return text;
}

std::string host_text(const query::NodeSummary& node) {
    Phrase phrase;
    if (node.host_name) {
        phrase.add(*node.host_name);
    }
    if (node.os_release) {
        phrase.add(*node.os_release);
    }
    if (node.os_pid) {
        phrase.add(fmt::format("OS process {}", *node.os_pid));
    }
    return phrase.text();
}

std::string capture_text(const query::CaptureSummary& capture) {
    Phrase phrase;
    phrase.add("mode " + capture.mode);
    if (capture.total_stopped_ns) {
        std::string stopped = capture.stops == 0 && *capture.total_stopped_ns == 0
                                  ? "node not stopped"
                                  : "node stopped for " + duration_text(*capture.total_stopped_ns);
        if (capture.stops > 1 && capture.longest_stop_ns) {
            stopped += fmt::format(" in {} stops (longest {})", *capture.stops,
                                   duration_text(*capture.longest_stop_ns));
        }
        phrase.add(std::move(stopped));
    }
    if (capture.elapsed_ns) {
        phrase.add("took " + duration_text(*capture.elapsed_ns));
    }
    return phrase.text();
}

/// The thread that wrote a crash dump, and what it ran.
std::string calling_text(const query::CrashSummary& crash) {
    std::string text = crash.calling_thread.value_or(std::string(kUnknown));
    if (crash.calling_process) {
        text += ", which ran " + query::process_with_name(*crash.calling_process);
    }
    return text;
}

std::string cost_text(const query::CaptureSummary& capture) {
    Phrase phrase;
    if (capture.bytes_read) {
        std::string read = bytes_text(*capture.bytes_read) + " of the node's memory";
        if (capture.reads) {
            read += fmt::format(" in {}", counted(*capture.reads, "read"));
        }
        phrase.add(std::move(read));
    }
    if (const std::uint64_t retries = capture.retries.value_or(0); retries > 0) {
        phrase.add(count_text(retries) + " retries");
    }
    phrase.add(capture.binary_prefix_bytes ? fmt::format("first {} of each binary",
                                                         bytes_text(*capture.binary_prefix_bytes))
                                           : "binaries whole");
    return phrase.text();
}

/// How many processes were started while the node was captured.
std::string starts_text(const query::ProcessStarts& starts) {
    return fmt::format("{} in {} ({:.1f} a second)", count_text(starts.count),
                       duration_text(static_cast<std::int64_t>(starts.seconds * 1e9)),
                       starts.per_second());
}

std::string process_count_text(const Summary& summary) {
    if (!summary.processes) {
        return std::string(kUnknown);
    }
    std::string text(at_least(summary.dump, "proc"));
    text += count_text(*summary.processes);
    if (summary.node.process_limit) {
        text += " of at most " + count_text(*summary.node.process_limit);
    }
    if (summary.messages) {
        text += fmt::format(", with {}{} queued", at_least(summary.dump, "proc"),
                            counted(*summary.messages, "message"));
    }
    return text;
}

/// Processes by status: those that run or want to run are what a node is busy with.
std::string busy_text(const Summary& summary) {
    Phrase phrase;
    for (const auto& [status, count] : summary.statuses) {
        phrase.add(fmt::format("{} {}", count_text(count), status));
    }
    return phrase.text();
}

std::string consistency_text(const Summary& summary) {
    if (!summary.processes_void) {
        return std::string(kUnknown);
    }
    if (*summary.processes_void == 0) {
        return "all processes";
    }
    std::vector<std::string> reasons;
    reasons.reserve(summary.void_by_reason.size());
    for (const query::VoidCount& count : summary.void_by_reason) {
        reasons.push_back(fmt::format("{} {}", count_text(count.processes), count.reason));
    }
    return fmt::format(
        "{}; {} void: {}",
        counted(summary.processes.value_or(0) - *summary.processes_void, "process", "processes"),
        count_text(*summary.processes_void), fmt::join(reasons, ", "));
}

void print_head(Output& output, const Summary& summary) {
    Table table({{""}, {""}});
    const auto row = [&table](std::string name, const std::string& text) {
        table.add({std::move(name), one_line(text)});
    };
    row("node", summary.dump.node_name ? *summary.dump.node_name : std::string(kUnknown));
    row("release", release_text(summary.node));
    row("up", uptime_text(summary));
    row("host", host_text(summary.node));
    row("schedulers", schedulers_text(summary.node));
    if (summary.crash) {
        const auto& crash = *summary.crash;
        const std::string unknown(kUnknown);
        row("slogan", crash.slogan.empty() ? unknown : crash.slogan);
        row("crashed", crash.date.empty() ? unknown : crash.date + " (the node's local time)");
        if (crash.calling_thread) {
            row("written by", calling_text(crash));
        }
        if (crash.taints) {
            row("taints",
                crash.taints->empty() ? "none: no module has loaded a NIF" : *crash.taints);
        }
        row("text", "crash dump, version " + (crash.version.empty() ? unknown : crash.version));
    } else {
        row("capture", capture_text(summary.capture));
        if (summary.capture.reason) {
            row("reason", *summary.capture.reason);
        }
        row("read", cost_text(summary.capture));
    }
    const auto& stream = summary.dump.stream_bytes;
    row("dump", fmt::format("{}, {}{}", summary.dump.file, bytes_text(summary.dump.file_bytes),
                            stream ? fmt::format(" ({} uncompressed)", bytes_text(*stream)) : ""));
    if (summary.dump.redaction) {
        row("redacted", *summary.dump.redaction + "; names, texts and numbers may be pseudonyms");
    }
    row("processes", process_count_text(summary));
    if (!summary.statuses.empty()) {
        row("busy", busy_text(summary));
    }
    if (summary.capture.starts) {
        row("started", starts_text(*summary.capture.starts));
    }
    row("consistent", consistency_text(summary));
    table.print_whole(output);
}

constexpr std::size_t kIndent = 2;

/// Each in lines of its own, which a ticket may break: nothing is cut.
void print_findings(Output& output, const query::Findings& findings) {
    const bool complete = findings.left_out.empty();
    print_title(output, !complete                ? "Findings: not complete"
                        : findings.found.empty() ? "Findings: none"
                                                 : "Findings");
    for (const query::Finding& finding : findings.found) {
        const std::string sentence = one_line(finding.sentence);
        output.print("{:{}}", "", kIndent);
        output.write(Style::kFinding, sentence);
        output.print("\n{:{}}{}\n", "", 3 * kIndent, one_line(finding.command));
    }
    if (complete) {
        return;
    }
    output.print("{:{}}not looked for, or not everywhere:\n", "", kIndent);
    for (const query::RuleLeftOut& rule : findings.left_out) {
        output.print("{:{}}{}: {}\n", "", 2 * kIndent, rule.id, one_line(rule.reason));
    }
    if (!findings.full_command.empty()) {
        output.print("{:{}}{}\n", "", 3 * kIndent, one_line(findings.full_command));
    }
}

/// A bar of up to kBarWidth characters.
std::string bar_text(std::uint64_t part, std::uint64_t whole) {
    constexpr double kBarWidth = 40;
    if (whole == 0) {
        return {};
    }
    const double share = std::min(1.0, static_cast<double>(part) / static_cast<double>(whole));
    return std::string(static_cast<std::size_t>(std::lround(share * kBarWidth)), '#');
}

void print_resident(Output& output, const query::MemorySummary& memory) {
    if (memory.parts.empty()) {
        return;
    }
    std::uint64_t whole = 0;
    for (const auto& part : memory.parts) {
        whole += part.bytes;
    }
    Table table({{""}, {"", Align::kRight}, {"", Align::kRight}, {""}});
    for (const auto& part : memory.parts) {
        table.add({resident_title(part.name), bytes_text(part.bytes),
                   part_share_text(part.bytes, whole), bar_text(part.bytes, whole)});
    }
    print_title(output, fmt::format("Resident memory by holder, of {}", bytes_text(whole)));
    table.print(output, "  ");
}

void print_memory(Output& output, const Summary& summary) {
    const query::MemorySummary& memory = summary.memory;
    Table table({{""}, {"", Align::kRight}, {""}});
    const auto row = [&](std::string title, const std::optional<std::uint64_t>& bytes,
                         std::string remark) {
        if (bytes) {
            table.add({std::move(title), bytes_text(*bytes), std::move(remark)});
        }
    };
    const auto counted = [](const std::optional<std::uint64_t>& count, std::string_view what) {
        return count ? fmt::format("{} {}", count_text(*count), what) : std::string();
    };
    std::string binaries = counted(memory.binary_count, "reference-counted");
    if (memory.binaries_captured && !binaries.empty()) {
        binaries += fmt::format(", {} captured", bytes_text(*memory.binaries_captured));
    }
    row("resident", memory.resident, "as the operating system counts it");
    row("processes", memory.processes,
        query::may_lack_some(summary.dump, "proc")
            ? "at least: the crash dump breaks off before the end of their sections"
        : summary.dump.memory_of_heaps
            ? "stack, heap, old heap and heap fragments only; the crash dump has no more"
            : "");
    row("  heaps and stacks", memory.process_heaps, "");
    row("binaries", memory.binaries, binaries);
    row("code", memory.code, counted(memory.module_count, "module instances"));
    row("literals", memory.literals, "");
    row("atoms", memory.atoms, counted(memory.atom_count, "atoms, their text only"));
    print_title(output, "Memory, as far as captured");
    table.print(output, "  ");
    if (memory.reported.empty()) {
        return;
    }
    Table reported({{""}, {"", Align::kRight}, {""}});
    for (const auto& [name, bytes] : memory.reported) {
        reported.add(
            {one_line(name), bytes_text(bytes), bar_text(bytes, memory.resident.value_or(0))});
    }
    print_title(output, "Memory, as the node counted it (erlang:memory/0)");
    reported.print(output, "  ");
}

}  // namespace

void summary_text(Output& output, const Summary& summary) {
    if (summary.dump.damage) {
        output.write(Style::kMissing,
                     fmt::format("INCOMPLETE: {}", one_line(*summary.dump.damage)));
        output.write("\n\n");
    }
    print_layout_notice(output, summary.dump.layout);
    print_head(output, summary);
    print_findings(output, summary.findings);
    print_resident(output, summary.memory);
    print_memory(output, summary);
    if (!summary.largest.empty()) {
        print_title(output, "Largest processes");
        print_process_table(output, summary.largest, "  ");
    }
    if (!summary.longest_queues.empty()) {
        print_title(output, "Longest message queues");
        print_process_table(output, summary.longest_queues, "  ");
    }
    if (!summary.warnings.empty()) {
        print_title(output, "Warnings of the capture");
        for (const std::string& warning : summary.warnings) {
            output.print("  {}\n", one_line(warning));
        }
    }
}

namespace {

void write_node(JsonWriter& json, const query::Summary& summary) {
    const query::NodeSummary& node = summary.node;
    json.begin_object("node");
    json.member("name", summary.dump.node_name);
    json.member("otp_release", node.otp_release);
    json.member("otp_version", node.otp_version);
    json.member("erts_version", node.erts_version);
    json.member("jit", node.jit);
    json.member("boot_us", node.boot_us);
    json.member("uptime_us", node.uptime_us);
    json.member("process_limit", node.process_limit);
    json.member("schedulers", node.schedulers);
    json.member("dirty_cpu_schedulers", node.dirty_cpu_schedulers);
    json.member("dirty_io_schedulers", node.dirty_io_schedulers);
    json.member("os_pid", node.os_pid);
    json.member("host_name", node.host_name);
    json.member("os_release", node.os_release);
    if (node.arguments) {
        json.begin_array("arguments");
        for (const std::string& argument : *node.arguments) {
            json.value(argument);
        }
        json.end_array();
    }
    json.end_object();
}

void write_capture(JsonWriter& json, const query::CaptureSummary& capture) {
    json.begin_object("capture");
    json.member("mode", capture.mode);
    json.member("tool_version", capture.tool_version);
    json.member("layout", capture.layout);
    json.member("binary_prefix_bytes", capture.binary_prefix_bytes);
    json.member("finished_us", capture.finished_us);
    json.member("elapsed_ns", capture.elapsed_ns);
    json.member("stops", capture.stops);
    json.member("longest_stop_ns", capture.longest_stop_ns);
    json.member("total_stopped_ns", capture.total_stopped_ns);
    json.member("bytes_read", capture.bytes_read);
    json.member("reads", capture.reads);
    json.member("retries", capture.retries);
    json.member("reason", capture.reason);
    if (capture.starts) {
        write_starts(json, *capture.starts);
    }
    json.end_object();
}

void write_crash(JsonWriter& json, const query::CrashSummary& crash) {
    json.begin_object("crash");
    json.member("slogan", crash.slogan);
    json.member("date", crash.date);
    json.member("version", crash.version);
    json.member("taints", crash.taints);
    json.member("calling_thread", crash.calling_thread);
    if (crash.calling_process) {
        json.member("calling_process", crash.calling_process->pid);
    }
    json.end_object();
}

void write_memory(JsonWriter& json, const query::MemorySummary& memory) {
    json.begin_object("memory");
    json.member("resident", memory.resident);
    json.member("processes", memory.processes);
    json.member("process_heaps", memory.process_heaps);
    json.member("binaries", memory.binaries);
    json.member("binaries_captured", memory.binaries_captured);
    json.member("code", memory.code);
    json.member("literals", memory.literals);
    json.member("atoms", memory.atoms);
    json.end_object();
    if (memory.reported.empty()) {
        return;
    }
    json.begin_object("node_memory");
    for (const auto& [name, bytes] : memory.reported) {
        json.member(name, bytes);
    }
    json.end_object();
}

void write_parts(JsonWriter& json, const std::vector<query::ResidentPart>& parts) {
    if (parts.empty()) {
        return;
    }
    write_objects(json, "resident_parts", parts, [&json](const query::ResidentPart& part) {
        json.member("name", part.name);
        json.member("bytes", part.bytes);
        json.member("blocks", part.blocks);
    });
}

void write_findings(JsonWriter& json, const query::Findings& findings) {
    write_objects(json, "findings", findings.found, [&json](const query::Finding& finding) {
        json.member("id", finding.id);
        json.member("sentence", finding.sentence);
        json.member("command", finding.command);
        json.begin_object("figures");
        for (const query::Figure& figure : finding.figures) {
            std::visit([&](const auto& value) { json.member(figure.name, value); }, figure.value);
        }
        json.end_object();
    });
    json.member("findings_depth", findings.depth == query::FindingsDepth::kFull ? "full" : "quick");
    write_objects(json, "findings_left_out", findings.left_out,
                  [&json](const query::RuleLeftOut& rule) {
                      json.member("id", rule.id);
                      json.member("reason", rule.reason);
                  });
}

void write_counts(JsonWriter& json, const query::Summary& summary) {
    json.begin_object("counts");
    json.member("processes", summary.processes);
    json.member("processes_void", summary.processes_void);
    json.member("messages", summary.messages);
    json.member("reductions", summary.reductions);
    json.member("binaries", summary.memory.binary_count);
    json.member("atoms", summary.memory.atom_count);
    json.member("module_instances", summary.memory.module_count);
    json.end_object();
    json.begin_object("statuses");
    for (const auto& [status, count] : summary.statuses) {
        json.member(status, count);
    }
    json.end_object();
    json.begin_object("void_by_reason");
    for (const query::VoidCount& count : summary.void_by_reason) {
        json.member(count.reason, count.processes);
    }
    json.end_object();
}

void write_processes(JsonWriter& json, std::string_view name,
                     const std::vector<query::ProcessLine>& lines) {
    json.begin_array(name);
    for (const query::ProcessLine& line : lines) {
        json.begin_object();
        write_process_members(json, line);
        json.end_object();
    }
    json.end_array();
}

}  // namespace

void summary_json(Output& output, const query::Summary& summary) {
    JsonWriter json(output, "beamdump.summary/1");
    write_dump(json, "dump", summary.dump);
    write_node(json, summary);
    write_capture(json, summary.capture);
    if (summary.crash) {
        write_crash(json, *summary.crash);
    }
    write_counts(json, summary);
    write_memory(json, summary.memory);
    write_parts(json, summary.memory.parts);
    write_findings(json, summary.findings);
    write_processes(json, "largest_processes", summary.largest);
    write_processes(json, "longest_queues", summary.longest_queues);
    json.begin_array("warnings");
    for (const std::string& warning : summary.warnings) {
        json.value(warning);
    }
    json.end_array();
    json.finish();
}

}  // namespace beamdump::render
