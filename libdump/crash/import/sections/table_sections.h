#pragma once

#include <libdump/crash/import/sections/section_reader.h>
#include <libdump/write/dump_writer.h>

#include <memory>

namespace beamdump::crash {

/// ETS tables: `=ets` (erl_db.c, print_table(), and the db_print of each kind of table, OTP 25 to
/// 29). `word_bytes`: of the node.
std::unique_ptr<SectionReader> ets_sections(Names& names, std::uint32_t word_bytes,
                                            DumpWriter& writer, records::Trailer& trailer);

}  // namespace beamdump::crash
