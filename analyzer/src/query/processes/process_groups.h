#pragma once

#include "query/facts/dump_facts.h"
#include "query/process/every_process.h"
#include "query/process/process_line.h"
#include "query/processes/processes.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// What processes of one group have in common.
enum class GroupBy : std::uint8_t {
    kInitialCall,  ///< what proc_lib started, else the initial call
    kCurrentFunction,
    kStatus,
    kSupervisor,   ///< the first of proc_lib's '$ancestors'
    kAncestor,     ///< the last of them that has a name
    kLabel,        ///< proc_lib's '$process_label' (OTP 27)
    kApplication,  ///< that of its group leader
};

/// initial_call, current_function, status, supervisor, ancestor, label or application. kUsage.
Result<GroupBy> parse_group_by(std::string_view name);
std::string_view group_by_text(GroupBy by);
/// Whether grouping reads something of each process, not only the index.
bool reads_processes(GroupBy by);

enum class GroupSort : std::uint8_t { kMemory, kCount, kQueue, kReductions, kName };

/// memory, count, queue, reductions or name. kUsage.
Result<GroupSort> parse_group_sort(std::string_view name);

struct GroupsOptions {
    GroupBy by = GroupBy::kInitialCall;
    GroupSort sort = GroupSort::kMemory;
    std::vector<RowFilter> filters;  ///< of processes: all must match
    std::uint64_t limit = 20;        ///< groups; 0: all
    bool sensitive = false;          ///< also the dictionaries of processes flagged sensitive
    ReadProgress progress = {};
};

struct GroupLine {
    std::optional<std::string> name;  ///< nothing: processes that have none, or none that is known
    std::uint64_t count = 0;
    /// Sums over the processes of which it is known; nothing where it is of none.
    std::optional<std::uint64_t> memory_bytes;
    std::optional<std::uint64_t> messages;
    std::optional<std::uint64_t> reductions;
    ProcessLine largest;  ///< by memory, the first of equals
};

struct ProcessGroups {
    DumpFacts dump;
    GroupBy by = GroupBy::kInitialCall;
    std::uint64_t total = 0;     ///< processes in the dump
    std::uint64_t matching = 0;  ///< those that pass the filters
    std::uint64_t group_count = 0;
    std::vector<GroupLine> groups;
    std::optional<ProcessesRead> read;  ///< where processes were read
    std::string untold;                 ///< ProcessListing::untold()
    bool told = true;                   ///< the dump tells of some process what they are grouped by
};

/// Memory: the groups, and 50 bytes a process where processes are read.
Result<ProcessGroups> process_groups(Dump& dump, const std::string& file,
                                     const GroupsOptions& options);

}  // namespace beamdump::query
