#pragma once

#include "query/facts/dump_facts.h"
#include "query/facts/process_starts.h"
#include "query/findings/findings.h"
#include "query/memory/memory.h"
#include "query/process/process_line.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::query {

/// Facts about the node.
struct NodeSummary {
    std::optional<std::string> otp_release;
    std::optional<std::string> otp_version;  ///< "27.3.4.1", as its installation says
    std::optional<std::string> erts_version;
    std::optional<bool> jit;
    std::optional<std::int64_t> boot_us;
    std::optional<std::int64_t> uptime_us;  ///< at capture
    std::optional<std::uint64_t> process_limit;
    std::optional<std::uint64_t> schedulers;
    std::optional<std::uint64_t> dirty_cpu_schedulers;
    std::optional<std::uint64_t> dirty_io_schedulers;
    std::optional<std::int64_t> os_pid;
    std::optional<std::string> host_name;
    std::optional<std::string> os_release;
    std::optional<std::vector<std::string>> arguments;  ///< nullopt for a crash dump
};

/// How the dump was taken, and its cost for the node.
struct CaptureSummary {
    std::string mode;
    std::optional<std::string> tool_version;
    std::optional<std::string> layout;
    std::optional<std::uint64_t> binary_prefix_bytes;  ///< nullopt: whole binaries
    std::optional<std::int64_t> finished_us;
    std::optional<std::int64_t> elapsed_ns;
    std::optional<std::int64_t> longest_stop_ns;
    std::optional<std::int64_t> total_stopped_ns;
    std::optional<std::uint64_t> stops;       ///< nullopt for a crash dump
    std::optional<std::uint64_t> bytes_read;  ///< from the node's memory
    std::optional<std::uint64_t> reads;
    std::optional<std::uint64_t> retries;
    std::optional<ProcessStarts> starts;  ///< of processes, meanwhile
    std::optional<std::string> reason;    ///< why it was taken, as whoever asked for it said
};

/// Facts that only crash dumps have.
struct CrashSummary {
    std::string slogan;
    std::string date;                            ///< as printed: the node's local time
    std::string version;                         ///< of the text format
    std::optional<std::string> taints;           ///< modules that loaded NIFs; empty: none
    std::optional<std::string> calling_thread;   ///< that wrote the dump
    std::optional<ProcessLine> calling_process;  ///< that this thread ran
};

struct VoidCount {
    std::string reason;
    std::uint64_t processes = 0;
};

/// Memory in bytes, as far as captured.
struct MemorySummary {
    std::optional<std::uint64_t> resident;   ///< of the operating-system process
    std::optional<std::uint64_t> processes;  ///< sum of process_info(memory)
    std::optional<std::uint64_t> process_heaps;
    std::optional<std::uint64_t> binaries;  ///< reference-counted, full sizes
    std::optional<std::uint64_t> binaries_captured;
    std::optional<std::uint64_t> binary_count;
    std::optional<std::uint64_t> atoms;  ///< of their text
    std::optional<std::uint64_t> atom_count;
    std::optional<std::uint64_t> code;
    std::optional<std::uint64_t> module_count;  ///< instances
    std::optional<std::uint64_t> literals;
    /// erlang:memory(): by the node's own counters, or as a crash dump has it.
    std::vector<std::pair<std::string, std::uint64_t>> reported;
    /// The parts of the resident memory, by holder, the largest first; empty where the dump does
    /// not tell.
    std::vector<ResidentPart> parts;
};

struct Summary {
    DumpFacts dump;
    NodeSummary node;
    CaptureSummary capture;
    std::optional<CrashSummary> crash;
    MemorySummary memory;
    std::optional<std::uint64_t> processes;
    std::optional<std::uint64_t> processes_void;
    std::vector<VoidCount> void_by_reason;
    std::optional<std::uint64_t> messages;
    std::optional<std::uint64_t> reductions;
    /// Processes by status, as process_info(status) names it, the most frequent first.
    std::vector<std::pair<std::string, std::uint64_t>> statuses;
    Findings findings;
    std::vector<ProcessLine> largest;         ///< by memory
    std::vector<ProcessLine> longest_queues;  ///< only those with messages
    std::vector<std::string> warnings;
};

/// What the trailer and the records of the node and of the capture say: without the statuses, the
/// holders of memory and findings. Reads the pages of the atoms that are named.
Summary recorded_summary(Dump& dump, const std::string& file);

/// Reads the trailer, how and what was captured, the records of its memory, the index of processes,
/// the pages of the atoms that are named, and what findings read (query/findings).
Result<Summary> summarize(Dump& dump, const std::string& file, const FindingsOptions& options);

}  // namespace beamdump::query
