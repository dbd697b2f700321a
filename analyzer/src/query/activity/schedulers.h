#pragma once

#include "query/rows/row_list.h"

#include <libdump/model/dump.h>

#include <string>

namespace beamdump::query {

/// Of list_schedulers().
std::span<const Column> scheduler_columns();

/// The node's schedulers, as columns: kind (normal, dirty_cpu, dirty_io), scheduler (its number:
/// those of dirty schedulers follow those of the kinds before, as in the runtime), state (running,
/// sleeping, awake, suspended), online, process (a pid), name (its registered name), port, and of
/// its run queue the length and its parts: max, high, normal, low (processes by priority), ports.
/// The run queues that all dirty CPU and all dirty I/O schedulers share are rows of their own, of
/// the kinds dirty_cpu_queue and dirty_io_queue. Of a crash dump, what its text has of each.
/// kNotFound where the dump has none.
Result<RowList> list_schedulers(Dump& dump, const std::string& file, const RowQuery& query);

}  // namespace beamdump::query
