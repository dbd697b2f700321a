#pragma once

#include <libdump/crash/import/convert.h>
#include <libdump/model/dump.h>

#include <span>

namespace beamdump::crash {

/// The records that belong to the whole text, of a dump made by convert_facts(). kCorrupt for
/// another one, and if the dump is damaged.
Result<std::vector<records::CrashIndex>> read_index(Dump& dump);

/// What extend() needs of such a dump for a choice. kCorrupt.
Result<FactsDump> read_facts(Dump& dump, const CrashDump& text, const ConvertChoice& choice);

}  // namespace beamdump::crash
