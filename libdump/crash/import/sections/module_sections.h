#pragma once

#include <libdump/crash/import/sections/section_reader.h>
#include <libdump/write/dump_writer.h>

#include <memory>

namespace beamdump::crash {

/// Modules: `=mod`, with their current and their old code (dump_module_info and loaded(), break.c
/// and erl_bif_info.c, OTP 25 to 29). `old_modules` counts those with old code; non-owning.
std::unique_ptr<SectionReader> module_sections(Names& names, DumpWriter& writer,
                                               records::Trailer& trailer,
                                               std::uint64_t& old_modules);

}  // namespace beamdump::crash
