#pragma once

#include <libdump/crash/text/crash_dump.h>
#include <libdump/write/dump_writer.h>

namespace beamdump::crash {

/// Writes the sections without records of their own verbatim, page by page.
Result<void> write_other_sections(const CrashDump& dump, DumpWriter& writer,
                                  records::Trailer& trailer);

}  // namespace beamdump::crash
