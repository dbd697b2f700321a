#pragma once

#include <libdump/crash/import/words/node_terms.h>
#include <libdump/crash/text/crash_dump.h>
#include <libdump/write/dump_writer.h>

namespace beamdump::crash {

/// Writes the section `persistent_terms` (erl_process_dump.c: `Key|Value` a line) as records, if
/// there is one. The literals must be known.
Result<void> write_persistent_terms(const CrashDump& dump, NodeTerms& terms, DumpWriter& writer,
                                    records::Trailer& trailer);

}  // namespace beamdump::crash
