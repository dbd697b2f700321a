#pragma once

#include <libdump/base/error.h>
#include <libdump/crash/export/terms/term_export.h>
#include <libdump/model/dump.h>
#include <libdump/model/process_run.h>

namespace beamdump::crash {

/// Writes a process's "Link list" (break.c, doit_print_link() and doit_print_monitor(), OTP
/// 27.3.4): links and monitors in both directions; no line if it has none. Omitted, as by the VM:
/// kinds of monitors that it does not show. Also omitted: a monitoring resource whose type is not
/// in the dump.
Result<void> write_link_list(Dump& dump, const ProcessRun& run, TermExport& terms);

}  // namespace beamdump::crash
