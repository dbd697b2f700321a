#pragma once

#include <libdump/base/error.h>
#include <libdump/crash/export/terms/text_output.h>
#include <libdump/model/dump.h>

namespace beamdump::crash {

/// Whether a dump was converted from a crash dump and has its other sections.
bool has_kept_sections(const Dump& dump);

/// Writes these verbatim, the head first: schedulers, memory, ports, tables, modules, funs, atoms
/// and whatever else its release wrote. The version of the text is this program's. For forged
/// dumps: a line that would begin a section gets a blank before it, and sections that are made from
/// records are skipped.
Result<void> write_kept_sections(Dump& dump, TextOutput& out);

}  // namespace beamdump::crash
