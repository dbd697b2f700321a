#pragma once

#include "query/process/every_process.h"
#include "query/process/process_line.h"
#include "query/waits/wait_graph.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace beamdump::query {

/// Rows of the index by process and by registered name. Memory: 100 bytes a process.
class ProcessRows {
  public:
    /// kLimit.
    static Result<ProcessRows> read(Dump& dump, const InputLimits& limits);

    [[nodiscard]] bool contains(std::uint64_t owner) const { return rows_.contains(owner); }
    [[nodiscard]] std::optional<std::uint64_t> named(std::uint64_t atom) const;
    /// Its pid alone if the dump does not list it.
    Result<ProcessLine> line(Dump& dump, std::uint64_t owner) const;

  private:
    std::unordered_map<std::uint64_t, std::uint64_t> rows_, by_name_;
};

struct WaitsOptions {
    std::uint64_t limit = 20;  ///< processes that others wait for, and cycles; 0: all
    bool sensitive = false;    ///< also the stacks of processes flagged sensitive
    ReadProgress progress = {};
    /// Only processes at these rows of the index are asked whom they wait for.
    std::optional<std::vector<std::uint64_t>> rows = {};
    bool all_kinds = false;   ///< also waits for busy ports and global locks
    InputLimits limits = {};  ///< kLimit where the graph needs more memory
};

/// Where an application master waits for the process that runs the application's start/2.
inline constexpr std::string_view kApplicationStart = "application_master:init_loop/4";
/// Where a process waits until another one, which it has started, says that it is ready
/// (proc_lib.erl, application_master.erl; OTP 25.2.3 to 29.1.1).
inline constexpr std::array<std::string_view, 4> kStartFunctions = {
    "proc_lib:sync_start/2", "proc_lib:sync_start_link/2", "proc_lib:sync_start_monitor/2",
    kApplicationStart};
/// Where processes wait before they try again to get a lock that another one has (global.erl, OTP
/// 25.2.3 to 29.1.1).
inline constexpr std::array<std::string_view, 1> kLockFunctions = {"global:random_sleep/1"};

/// Adds processes that wait for an answer, and of whom: those that are in a receive with the
/// reference of a monitor of theirs in a y register of the current function, as gen:call/4 and
/// erpc:call/5 are, those that erts_code_purger is to answer, and those that wait until a process
/// that they have started says that it is ready. If asked for, also suspended ones
/// in a command to a busy port, and those that try to get a global lock. Reads the top of all
/// stacks, and monitors.
Result<ProcessesRead> add_call_waits(Dump& dump, const WaitsOptions& options,
                                     const ProcessRows& rows, WaitGraph& graph);

}  // namespace beamdump::query
