#pragma once

#include "query/facts/dump_facts.h"
#include "query/process/process_line.h"
#include "query/waits/call_waits.h"
#include "query/waits/wait_graph.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::query {

/// A place in a chain of waits, and what it waits for itself.
struct HangStep {
    WaitPlace place;
    std::optional<ProcessLine> process;
    /// The first is the next step's place, if the chain goes on. Where only several may be so, the
    /// chain ends.
    std::vector<WaitEdge> edges;
};

/// From something that waits to what it waits for in the end.
struct HangChain {
    std::vector<HangStep> steps;
    std::uint64_t left_out = 0;  ///< places before the first step
    bool cycle = false;          ///< the last step waits for one of the steps before
};

/// What waits for nothing that the dump tells.
struct HangEnd {
    WaitPlace place;
    std::string why;           ///< it does not go on: a sentence without its subject and full stop
    std::uint64_t direct = 0;  ///< processes that wait for it
    std::uint64_t behind = 0;  ///< these, those that wait for them, and so on
    HangChain chain;           ///< the longest to it
};

/// Each waits for the next one, the last for the first.
struct HangCycle {
    HangChain chain;
    std::uint64_t behind = 0;  ///< others that wait for one of them, or for one that does
};

/// A lock of the module global that processes wait for.
struct LockWait {
    WaitPlace lock;
    WaitPlace holder;
    std::uint64_t waiting = 0;  ///< processes that wait for the lock itself
};

struct Hang {
    DumpFacts dump;
    ProcessesRead read;
    std::uint64_t waiting = 0;  ///< processes that wait for something that the dump tells
    /// What the process that was asked for waits for in the end; the chain begins with that
    /// process.
    std::optional<HangEnd> asked;
    std::optional<std::uint64_t> asked_behind;  ///< processes that wait for it
    std::vector<HangEnd> ends;                  ///< most processes behind first
    std::uint64_t end_count = 0;
    std::vector<HangCycle> cycles;
    std::uint64_t cycle_count = 0;
    /// Schedulers that hold up thread progress ("scheduler 2"), and how many processes wait behind
    /// each. Not where a process was asked for.
    std::vector<std::pair<std::string, std::uint64_t>> held_up;
    /// Global locks that processes wait for, with their holders. Not where a process was asked for.
    std::vector<LockWait> locks;
    std::vector<std::string> untold;  ///< sentences
};

/// One wait: a place and what it waits for.
struct WaitLine {
    WaitPlace place;
    WaitEdge edge;
    bool followed = false;     ///< chains go on this way
    std::uint64_t behind = 0;  ///< processes that wait for the place, and so on
    /// Where the chain from the place ends, after how many steps; nothing: it leads into a cycle.
    std::optional<WaitPlace> end;
    std::uint64_t steps = 0;
    bool in_cycle = false;  ///< the chain comes back to the place
};

struct WaitLines {
    ProcessesRead read;
    std::vector<WaitLine> lines;      ///< in the order of places
    std::vector<std::string> untold;  ///< sentences
};

/// All waits that find_hang() follows. kLimit.
Result<WaitLines> find_wait_lines(Dump& dump, const WaitsOptions& options);

/// Why processes do not go on: the ends for which most wait, or of one process (`<0.12.0>` or a
/// name). Reads what add_call_waits() and add_emulator_waits() read; names of processes of what is
/// shown. kNotFound: there is no such process.
Result<Hang> find_hang(Dump& dump, const std::string& file,
                       const std::optional<std::string>& process, const WaitsOptions& options);

}  // namespace beamdump::query
