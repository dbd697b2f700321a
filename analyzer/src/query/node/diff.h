#pragma once

#include "query/node/dump_facts.h"
#include "query/node/process_line.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::query {

/// A number before and after. Either may be unknown.
struct Change {
    std::string name;
    bool bytes = false;
    /// False if the VM's crash dump and a capture count other things: binaries and code.
    bool comparable = true;
    std::optional<std::uint64_t> before;
    std::optional<std::uint64_t> after;
};

/// A process that is in both dumps.
struct GrownProcess {
    ProcessLine before;
    ProcessLine after;
    std::int64_t memory_growth_bytes = 0;
    std::int64_t queue_growth = 0;
    std::int64_t reductions = 0;  ///< between the captures
};

/// Processes with one kind of change: count, and the first of them.
struct ProcessGroup {
    std::uint64_t count = 0;
    std::uint64_t memory_bytes = 0;
    std::vector<ProcessLine> largest;
};

struct DumpDiff {
    DumpFacts before;
    DumpFacts after;
    std::optional<std::int64_t> elapsed_us;  ///< from one capture's start to the other's
    /// The dumps are of one run of one node, so that a pid is the same process in both: node name,
    /// creation, boot time, OS pid and crash are equal as far as both dumps have them.
    bool same_run = true;
    std::vector<Change> totals;
    ProcessGroup born;
    ProcessGroup gone;
    std::uint64_t common = 0;
    std::uint64_t grown_count = 0;
    std::uint64_t shrunk_count = 0;
    std::vector<GrownProcess> grown;         ///< most memory gained first
    std::vector<GrownProcess> grown_queues;  ///< most messages gained first
};

/// Names of the totals that both dumps have and that cannot be compared.
std::vector<std::string> not_comparable(const DumpDiff& diff);

/// Compares two dumps, earlier one first. Processes match if pid and, if both dumps have it,
/// initial call are equal; in dumps of different runs none match. Memory: about 100 bytes for each
/// process of both.
Result<DumpDiff> diff_dumps(Dump& before, const std::string& before_file, Dump& after,
                            const std::string& after_file, std::uint64_t limit);

}  // namespace beamdump::query
