#pragma once

#include "query/process/opened_process.h"
#include "query/process/process_details.h"

namespace beamdump::query {

/// As process_info(current_stacktrace): functions and lines, the current one first, 8 at most (the
/// default of system_flag(backtrace_depth)).
Excerpt<CodeLine> current_stacktrace(Dump& dump, OpenedProcess& process);

}  // namespace beamdump::query
