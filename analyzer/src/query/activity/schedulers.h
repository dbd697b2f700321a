#pragma once

#include "query/rows/row_list.h"

#include <libdump/model/dump.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::query {

/// A scheduler with its run queue, or a run queue that dirty schedulers share. What the dump lacks
/// of it is absent.
struct SchedulerLine {
    std::string kind;                        ///< as list_schedulers() names it
    std::optional<std::uint64_t> scheduler;  ///< its number in the runtime
    std::optional<std::string> state;        ///< running, sleeping, awake or suspended
    std::optional<bool> online;
    std::optional<std::string> process;  ///< pid of the process that it runs
    std::optional<std::string> port;
    std::optional<std::string> frees;  ///< pid of a process that has ended
    std::optional<std::uint64_t> off_heap_circle, off_heap_circle_address;
    std::optional<std::uint64_t> queue;  ///< length of its run queue
    std::optional<std::uint64_t> max, high, normal, low, ports;
    std::optional<std::string> aux_work;  ///< names of flags; empty: it has none to do
};

/// At most 4,096 schedulers and as many run queues: kCorrupt for more. kNotFound where the dump has
/// none. `file` is the dump's name in errors.
Result<std::vector<SchedulerLine>> scheduler_lines(Dump& dump);

/// The columns of list_schedulers().
std::span<const Column> scheduler_columns();

/// The node's schedulers, as columns: kind (normal, dirty_cpu, dirty_io), scheduler (its number:
/// those of dirty schedulers follow those of the kinds before, as in the runtime), state (running,
/// sleeping, awake, suspended), online, process (a pid), name (its registered name), port, and of
/// its run queue the length and its parts: max, high, normal, low (processes by priority), ports;
/// aux_work (of the scheduler), frees (a pid), off_heap_circle.
/// The run queues that all dirty CPU and all dirty I/O schedulers share are rows of their own, of
/// the kinds dirty_cpu_queue and dirty_io_queue. Of a crash dump, what its text has of each. Errors
/// as of scheduler_lines().
Result<RowList> list_schedulers(Dump& dump, const RowQuery& query);

}  // namespace beamdump::query
