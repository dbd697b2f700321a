#pragma once

#include "query/process/opened_process.h"
#include "query/process/process_details.h"

namespace beamdump::query {

/// process_info's current_stacktrace: functions with a line each, the current one first, as many as
/// the VM shows unless system_flag(backtrace_depth) says otherwise (8).
Excerpt<CodeLine> current_stacktrace(Dump& dump, OpenedProcess& process);

}  // namespace beamdump::query
