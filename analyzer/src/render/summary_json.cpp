#include "render/shared/json.h"
#include "render/summary.h"

#include <variant>
#include <vector>

namespace beamdump::render {

namespace {

void write_node(JsonWriter& json, const query::Summary& summary) {
    const query::NodeSummary& node = summary.node;
    json.begin_object("node");
    json.member("name", summary.dump.node_name);
    json.member("otp_release", node.otp_release);
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
