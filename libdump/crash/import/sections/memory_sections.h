#pragma once

#include <libdump/crash/import/sections/section_reader.h>
#include <libdump/write/dump_writer.h>

#include <memory>

namespace beamdump::crash {

/// Allocators, the cache of segments and the mapper: `=allocator` (erl_alloc.c,
/// erts_allocator_info() and the info_* functions of erl_alloc_util.c, erl_mseg.c and erl_mmap.c,
/// OTP 25 to 29). `names`: counts the memory.
std::unique_ptr<SectionReader> allocator_sections(const Names& names, DumpWriter& writer,
                                                  records::Trailer& trailer);

}  // namespace beamdump::crash
