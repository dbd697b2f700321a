#pragma once

#include "crash/export/terms/term_export.h"

#include <libdump/base/error.h>
#include <libdump/model/dump.h>
#include <libdump/model/process_run.h>

namespace beamdump::crash {

/// Writes a process's "Link list" (break.c, doit_print_link() and doit_print_monitor(),
/// OTP 27.3.4): links, monitors and who monitors it; no line where it has none. Left out, as by the
/// VM: monitors of kinds that it does not show. Left out, too: a resource that monitors it, whose
/// type is not in the dump.
Result<void> write_link_list(Dump& dump, const ProcessRun& run, TermExport& terms);

}  // namespace beamdump::crash
