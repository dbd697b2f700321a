#pragma once

#include <libdump/base/error.h>
#include <libdump/crash/export/terms/term_export.h>
#include <libdump/model/dump.h>
#include <libdump/model/process_run.h>

namespace beamdump::crash {

/// Writes a process's =proc section (break.c, print_process_info(), and erl_process_dump.c,
/// erts_dump_extended_process_state(); OTP 25.2.3, 27.3.4 and 29.1.1): the facts in the dump,
/// without lines for unknown ones. `terms` must read the process's words.
Result<void> write_process_section(Dump& dump, const ProcessRun& run, TermExport& terms);

}  // namespace beamdump::crash
