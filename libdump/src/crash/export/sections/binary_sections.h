#pragma once

#include "crash/export/terms/text_output.h"

#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>

namespace beamdump::crash {

/// Writes a =binary section for each reference-counted binary of the dump (erl_process_dump.c,
/// dump_binaries()), in one pass over the dump. A binary of which the dump has but the first bytes
/// keeps its whole size before these: crashdump_viewer then calls the rest truncated. Where several
/// lay at one address in turn, the last section is the last of them. Gives how many are not whole.
Result<std::uint64_t> write_binaries(Dump& dump, TextOutput& out);

}  // namespace beamdump::crash
