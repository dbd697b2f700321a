#pragma once

#include <libdump/base/temporary_file.h>
#include <libdump/model/dump.h>

#include <optional>
#include <string>

namespace beamdump::crash {

/// A dump that was converted from a crash dump before format 1.1 has the sections of ports, timers,
/// ETS tables and so on as text alone. Gives a copy of it with their records; nothing for any other
/// dump, and for a truncated one, which has no end to append to. `path`: of the dump's file.
/// Memory: the dump's atoms. Errors: those of reading and of temporary files.
Result<std::optional<TemporaryFile>> with_section_records(Dump& dump, const std::string& path);

}  // namespace beamdump::crash
