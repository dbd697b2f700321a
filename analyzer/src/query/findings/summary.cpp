#include "query/findings/summary.h"

#include "query/facts/dump_facts.h"
#include "query/facts/node_syntax.h"
#include "query/facts/time_span.h"
#include "query/process/process_names.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/process_row.h>
#include <libdump/model/dump_form.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace beamdump::query {

namespace {

constexpr int kTopRows = 10;

template <typename Value>
std::optional<Value> known(bool has, Value value) {
    return has ? std::optional(value) : std::nullopt;
}

std::string mode_text(records::CaptureMode mode) {
    switch (mode) {
        case records::CAPTURE_MODE_FREEZE:
            return "freeze";
        case records::CAPTURE_MODE_LIVE:
            return "live";
        case records::CAPTURE_MODE_SNAPSHOT:
            return "snapshot";
        case records::CAPTURE_MODE_AUTO:
            return "auto";
        case records::CAPTURE_MODE_CRASH_DUMP:
            return "crash_dump";
        case records::CAPTURE_MODE_CORE:
            return "core";
        case records::CAPTURE_MODE_RECORDING:
            return "recording";
        case records::CAPTURE_MODE_CRASHED:
            return "crashed";
        default:
            return "unknown";
    }
}

NodeSummary node_summary(Dump& dump) {
    const records::Node& node = dump.node();
    const records::Capture& capture = dump.capture();
    NodeSummary summary;
    summary.otp_release = known(node.has_otp_release(), node.otp_release());
    summary.otp_version = known(node.has_otp_version(), node.otp_version());
    summary.erts_version = known(node.has_erts_version(), node.erts_version());
    summary.jit = known(node.has_jit(), node.jit());
    summary.boot_us = known(node.has_boot_us(), node.boot_us());
    if (node.has_boot_us() && capture.has_started_us()) {
        summary.uptime_us = span_us(node.boot_us(), capture.started_us());
    }
    summary.process_limit = known<std::uint64_t>(node.has_process_limit(), node.process_limit());
    summary.schedulers = known<std::uint64_t>(node.has_schedulers(), node.schedulers());
    summary.dirty_cpu_schedulers =
        known<std::uint64_t>(node.has_dirty_cpu_schedulers(), node.dirty_cpu_schedulers());
    summary.dirty_io_schedulers =
        known<std::uint64_t>(node.has_dirty_io_schedulers(), node.dirty_io_schedulers());
    summary.os_pid = known(capture.has_os_pid(), capture.os_pid());
    summary.host_name = known(capture.has_host_name(), capture.host_name());
    summary.os_release = known(capture.has_os_release(), capture.os_release());
    if (form_of(dump).vm_arguments) {
        summary.arguments.emplace(node.arguments().begin(), node.arguments().end());
    }
    return summary;
}

CaptureSummary capture_summary(const Dump& dump) {
    const records::Capture& capture = dump.capture();
    const records::Trailer& trailer = dump.trailer();
    const records::CaptureCost& cost = trailer.cost();
    CaptureSummary summary;
    summary.mode = mode_text(capture.mode());
    summary.tool_version = known(capture.has_tool_version(), capture.tool_version());
    summary.layout = known(capture.has_layout_name(), capture.layout_name());
    summary.binary_prefix_bytes =
        known(capture.has_binary_prefix_bytes(), capture.binary_prefix_bytes());
    summary.finished_us = known(trailer.has_finished_us(), trailer.finished_us());
    summary.elapsed_ns = known(cost.has_elapsed_ns(), cost.elapsed_ns());
    summary.longest_stop_ns = known(cost.has_longest_stop_ns(), cost.longest_stop_ns());
    summary.total_stopped_ns = known(cost.has_total_stopped_ns(), cost.total_stopped_ns());
    summary.stops = known(form_of(dump).capture_cost, static_cast<std::uint64_t>(cost.stop_size()));
    summary.bytes_read = known(cost.has_bytes_read(), cost.bytes_read());
    summary.reads = known(cost.has_reads(), cost.reads());
    summary.retries = known(cost.has_retries(), cost.retries());
    summary.starts = process_starts(dump);
    summary.reason = known(capture.has_reason(), capture.reason());
    return summary;
}

MemorySummary memory_summary(const Dump& dump) {
    const records::Totals& totals = dump.trailer().totals();
    const records::Node& node = dump.node();
    const std::uint64_t word_bytes = node_word_bytes(dump);
    const auto words = [word_bytes](bool has, std::uint64_t count) {
        return known(has, count * word_bytes);
    };
    MemorySummary memory;
    memory.resident = known(node.has_resident_bytes(), node.resident_bytes());
    memory.processes = known(totals.has_process_memory_bytes(), totals.process_memory_bytes());
    memory.process_heaps = words(totals.has_heap_words(), totals.heap_words());
    memory.binaries = known(totals.has_binary_bytes(), totals.binary_bytes());
    memory.binaries_captured =
        known(totals.has_binary_bytes_captured(), totals.binary_bytes_captured());
    memory.binary_count = known(totals.has_binaries(), totals.binaries());
    memory.atoms = totals.has_atom_text_bytes()
                       ? std::optional(totals.atom_text_bytes())
                       : known(node.has_atom_text_bytes(), node.atom_text_bytes());
    memory.atom_count = known(totals.has_atoms(), totals.atoms());
    memory.code = totals.has_code_bytes() ? std::optional(totals.code_bytes())
                                          : known(node.has_code_bytes(), node.code_bytes());
    memory.module_count = known(totals.has_modules(), totals.modules());
    memory.literals = words(totals.has_literal_words(), totals.literal_words());
    return memory;
}

std::optional<CrashSummary> crash_summary(const Dump& dump) {
    if (!is_of_crash_dump(dump)) {
        return std::nullopt;
    }
    const auto& capture = dump.capture();
    CrashSummary crash;
    crash.slogan = capture.slogan();
    crash.date = capture.crash_date();
    crash.version = capture.crash_dump_version();
    crash.taints = known(capture.has_taints(), capture.taints());
    crash.calling_thread = known(capture.has_calling_thread(), capture.calling_thread());
    return crash;
}

std::vector<VoidCount> void_counts(const records::Totals& totals) {
    std::vector<VoidCount> counts;
    for (int i = 0; i < totals.void_by_reason_size(); ++i) {
        if (const auto reason = void_reason_text(static_cast<records::VoidReason>(i));
            reason && totals.void_by_reason(i) > 0) {
            counts.push_back({*reason, totals.void_by_reason(i)});
        }
    }
    return counts;
}

std::optional<std::uint64_t> void_total(const records::Totals& totals) {
    if (totals.has_processes_void() || totals.void_by_reason_size() == 0) {
        return known(totals.has_processes_void(), totals.processes_void());
    }
    const auto& counts = totals.void_by_reason();
    return std::accumulate(counts.begin() + 1, counts.end(), std::uint64_t{0});
}

std::vector<ProcessLine> top_lines(Dump& dump, records::ProcessColumnKind by) {
    std::vector<ProcessLine> lines;
    ProcessNames names(dump);
    for (const auto& list : dump.trailer().top()) {
        if (list.by() != by) {
            continue;
        }
        for (const auto& row : list.row()) {
            if (static_cast<int>(lines.size()) == kTopRows) {
                break;
            }
            if (column_value(row, by).value_or(0) > 0) {
                lines.push_back(process_line(dump, row));
                names.add_to(lines.back(), row);
            }
        }
        break;
    }
    return lines;
}

/// None where the index cannot be read: findings say so.
std::vector<std::pair<std::string, std::uint64_t>> status_counts(NodeFacts& facts) {
    std::vector<std::pair<std::string, std::uint64_t>> counts;
    if (const auto scan = facts.processes()) {
        counts.assign((*scan)->statuses.begin(), (*scan)->statuses.end());
        std::ranges::stable_sort(counts, std::greater(),
                                 &std::pair<std::string, std::uint64_t>::second);
    }
    return counts;
}

}  // namespace

Summary recorded_summary(Dump& dump, const std::string& file) {
    const records::Totals& totals = dump.trailer().totals();
    Summary summary;
    summary.dump = dump_facts(dump, file);
    summary.node = node_summary(dump);
    summary.capture = capture_summary(dump);
    summary.crash = crash_summary(dump);
    summary.memory = memory_summary(dump);
    summary.processes = known_total(
        summary.dump, totals.has_processes() ? totals.processes() : dump.processes().size());
    summary.void_by_reason = void_counts(totals);
    summary.processes_void = void_total(totals);
    summary.messages = known(totals.has_messages(), totals.messages());
    summary.reductions = known(totals.has_reductions(), totals.reductions());
    summary.largest = top_lines(dump, records::PROCESS_COLUMN_MEMORY_BYTES);
    summary.longest_queues = top_lines(dump, records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH);
    summary.warnings.assign(dump.trailer().warning().begin(), dump.trailer().warning().end());
    return summary;
}

Result<Summary> summarize(Dump& dump, const std::string& file, const FindingsOptions& options) {
    Summary summary = recorded_summary(dump, file);
    const bool own_style = !dump.term_style();
    if (own_style) {
        // Of messages that findings show, as the command messages prints them.
        dump.set_term_style({.syntax = syntax_of_node(dump).value_or(TermSyntax::kErlang)});
    }
    NodeFacts facts(dump, file, options);
    // What cannot be read of it is said by the findings that need it.
    if (const auto node = facts.memory()) {
        summary.memory.reported = (*node)->categories;
        summary.memory.parts = resident_parts(**node);
    }
    if (const auto calling = facts.calling_process(); summary.crash && calling && *calling) {
        summary.crash->calling_process = **calling;
    }
    summary.statuses = status_counts(facts);
    summary.findings = find_findings(facts);
    if (own_style) {
        dump.clear_term_style();
    }
    return summary;
}

}  // namespace beamdump::query
