#pragma once

#include "query/process/process_line.h"

#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace beamdump::query {

/// What the index of processes says of a node, by one pass over it.
struct ProcessScan {
    /// A row of the index by a number of its process.
    using Ranked = std::pair<std::uint64_t, std::uint64_t>;
    /// Rows that are kept of each ranking.
    static constexpr std::uint64_t kRanked = 8;
    /// Rows that are kept of those below where nothing else is said.
    static constexpr std::uint64_t kMostRows = 32;
    static constexpr std::uint64_t kMostSupervisors = 1024;
    static constexpr std::uint64_t kMostFresh = 1024;
    static constexpr std::uint64_t kMostStarting = 1024;
    /// That a node counts for the start, by erlang:spawn/1, and the end of a process that does
    /// nothing; 115 to 117 if another monitors it and waits for its end. Measured by
    /// erlang:statistics(exact_reductions) in loops of both on OTP 25.2.3, 27.3.4.1 and 29.1.2.
    static constexpr std::uint64_t kStartReductions = 107;
    /// Some rows of the index, and of how many.
    struct Rows {
        std::uint64_t most = kMostRows;  ///< that are kept
        std::uint64_t count = 0;
        std::vector<std::uint64_t> rows = {};  ///< the first of them
        [[nodiscard]] bool all() const { return rows.size() == count; }
    };

    std::uint64_t processes = 0;
    /// By status; those that have none are in none.
    std::map<std::string_view, std::uint64_t> statuses;
    std::uint64_t memory_bytes = 0;  ///< of those of which it is known
    std::vector<Ranked> largest;     ///< by memory in bytes, the largest first
    std::vector<Ranked> longest;     ///< by messages queued, those with any
    std::uint64_t reductions = 0;    ///< of those of which they are known
    std::optional<Ranked> busiest;   ///< by reductions
    /// The kind of which most processes are: what proc_lib started, else the initial call.
    std::optional<records::Mfa> kind;
    std::uint64_t kind_processes = 0;
    std::uint64_t kind_bytes = 0;
    Rows in_call;  ///< that wait in gen:call/4 or erpc:call/5
    /// Fewer wait in one function, each with a monitor, in most nodes that are well.
    static constexpr std::uint64_t kCrowd = 20;
    /// Others that hold a monitor and wait, kCrowd or more of them in one function: code may call
    /// without gen. Those in the main loop of a behaviour are left out.
    Rows crowd;
    Rows starting = {.most = kMostStarting};  ///< that wait in kStartFunctions
    /// That application_master:start_it/4 runs in: start/2 of an application, then the wait for its
    /// end, then stop/1.
    Rows applications = {.most = kMostStarting};
    Rows locking = {.most = kMostStarting};  ///< that wait in kLockFunctions
    Rows loading;  ///< that wait in mnesia:wait_for_tables/2, for tables that Mnesia loads
    Rows asleep;   ///< that wait, in hibernation and with messages: not of a crash dump
    Rows running;  ///< that ran, whether the dump has their memory or not
    /// That are ready to run, run or end, and have done less than starts and ends them.
    Rows fresh = {.most = kMostFresh};
    /// The system process that takes literals from all processes before they are freed.
    std::optional<std::uint64_t> literal_collector;
    Rows in_old_code;  ///< whose current function is in one of `modules`
    /// That supervisor:init/1 runs in, as proc_lib says: not known of a crash dump.
    Rows supervisors = {.most = kMostSupervisors};
};

/// Whether a process waits where one does that has called another (gen.erl, erpc.erl; OTP 25.2.3 to
/// 29.1.1).
bool is_in_call(const ProcessLine& line);
/// Whether a process waits where a server does that has nothing to do: in the main loop of a
/// behaviour, or in hibernation.
bool is_in_loop(const ProcessLine& line);

/// `modules`: atoms of modules that have old code; `most_in_call`: rows that are kept of processes
/// in a call, and of a crowd. Memory: the different functions, these rows, and up to kCrowd rows of
/// each function that processes wait in.
Result<ProcessScan> scan_processes(Dump& dump, const std::set<std::uint64_t>& modules,
                                   std::uint64_t most_in_call);

}  // namespace beamdump::query
