#pragma once

#include "query/facts/dump_facts.h"
#include "query/process/every_process.h"
#include "query/process/process_line.h"
#include "query/waits/call_waits.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::query {

/// A process that others wait for.
struct WaitedFor {
    /// Nothing: a process of another node, a port, or one that is not in the dump.
    std::optional<ProcessLine> process;
    std::string name;          ///< pid, port, registered name or {name,node}
    std::uint64_t direct = 0;  ///< processes that wait for it
    std::uint64_t behind = 0;  ///< these, those that wait for them, and so on; itself left out
    std::optional<std::string> waits_for;  ///< where it waits itself
    bool in_cycle = false;
};

/// Processes each of which waits for the next one, the last for the first.
struct WaitCycle {
    std::vector<ProcessLine> processes;
    std::uint64_t behind = 0;  ///< others that wait for one of them, or for one that does
};

struct Waits {
    DumpFacts dump;
    std::uint64_t waiting = 0;          ///< processes that wait for an answer
    std::uint64_t targets = 0;          ///< processes that they wait for
    std::vector<WaitedFor> waited_for;  ///< most processes behind first
    std::uint64_t cycle_count = 0;
    std::vector<WaitCycle> cycles;
    ProcessesRead read;
};

/// Processes that wait for an answer, and of whom: what add_call_waits() finds.
Result<Waits> find_waits(Dump& dump, const std::string& file, const WaitsOptions& options);

/// A process that waits, and for whom: a pid, port, registered name or {name,node}.
struct Waiter {
    std::uint64_t owner_id = 0;
    std::string waits_for;
};
/// All of them, by process, as find_waits() finds them.
Result<std::vector<Waiter>> waiters(Dump& dump, const WaitsOptions& options);

}  // namespace beamdump::query
