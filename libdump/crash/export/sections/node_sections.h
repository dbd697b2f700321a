#pragma once

#include <libdump/base/error.h>
#include <libdump/crash/export/terms/term_export.h>
#include <libdump/crash/export/terms/text_output.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <string_view>

namespace beamdump::crash {

/// The sections of the node as a whole, in the order of the VM (break.c, erl_crash_dump_v(), OTP
/// 27.3.4; erl_crash_dump.c from 28 on). Lines whose facts are not in the dump are omitted.

/// =erl_crash_dump: the head of the original crash dump, or the dump's origin and the `version` of
/// this program.
void write_head(Dump& dump, std::string_view version, TextOutput& out);

/// =memory, as far as known (docs/crash-dump-export.md defines the numbers).
void write_memory(Dump& dump, TextOutput& out);

/// =node and, if the node has no name, =no_distribution.
void write_distribution(Dump& dump, TermExport& terms);

/// =loaded_modules and a =mod for each. Memory: about 40 bytes a module.
Result<void> write_modules(Dump& dump, TermExport& terms);

/// A =fun for each entry of the fun table.
Result<void> write_funs(Dump& dump, TermExport& terms);

/// =atoms: one line each, from the last to the first.
Result<void> write_atoms(Dump& dump, TextOutput& out);

/// Writes a =binary section for each reference-counted binary of the dump (erl_process_dump.c,
/// dump_binaries()), in one pass over the dump. A binary of which the dump has only the first bytes
/// is written with its whole size: crashdump_viewer shows the rest as truncated. If an address was
/// reused, the last section is the last binary. Returns how many are incomplete.
Result<std::uint64_t> write_binaries(Dump& dump, TextOutput& out);

/// Whether a dump was converted from a crash dump and has its other sections.
bool has_kept_sections(const Dump& dump);

/// Writes these verbatim, the head first: schedulers, memory, ports, tables, modules, funs, atoms
/// and whatever else its release wrote. The version of the text is this program's. For forged
/// dumps: a line that would begin a section gets a blank before it, and sections that are made from
/// records are skipped.
Result<void> write_kept_sections(Dump& dump, TextOutput& out);

}  // namespace beamdump::crash
