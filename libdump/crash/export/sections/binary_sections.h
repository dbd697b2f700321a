#pragma once

#include <libdump/base/error.h>
#include <libdump/crash/export/terms/text_output.h>
#include <libdump/model/dump.h>

#include <cstdint>

namespace beamdump::crash {

/// Writes a =binary section for each reference-counted binary of the dump (erl_process_dump.c,
/// dump_binaries()), in one pass over the dump. A binary of which the dump has only the first bytes
/// is written with its whole size: crashdump_viewer shows the rest as truncated. If an address was
/// reused, the last section is the last binary. Returns how many are incomplete.
Result<std::uint64_t> write_binaries(Dump& dump, TextOutput& out);

}  // namespace beamdump::crash
