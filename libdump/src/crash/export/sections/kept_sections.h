#pragma once

#include "crash/export/terms/text_output.h"

#include <libdump/base/error.h>
#include <libdump/model/dump.h>

namespace beamdump::crash {

/// Whether a dump was made of a crash dump and has the sections of its text that are made of no
/// records.
bool has_kept_sections(const Dump& dump);

/// Writes them as the text had them, its head first: schedulers, memory, ports, tables, modules,
/// funs, atoms and whatever else its release wrote. The version of the text is this program's.
/// Of a forged dump: a line among theirs that would begin a section gets a blank before it, and
/// sections that are made of records are left out.
Result<void> write_kept_sections(Dump& dump, TextOutput& out);

}  // namespace beamdump::crash
