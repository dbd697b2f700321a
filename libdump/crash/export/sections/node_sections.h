#pragma once

#include <libdump/base/error.h>
#include <libdump/crash/export/terms/term_export.h>
#include <libdump/model/dump.h>

#include <string_view>

namespace beamdump::crash {

/// The sections of the node as a whole, in the order of the VM (break.c, erl_crash_dump_v(), OTP
/// 27.3.4; erl_crash_dump.c from 28 on). Lines whose facts are not in the dump are omitted.

/// The version of the text format that is written.
inline constexpr std::string_view kTextVersion = "0.5";

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

}  // namespace beamdump::crash
