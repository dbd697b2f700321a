#pragma once

#include <libdump/crash/import/words/names.h>
#include <libdump/write/dump_writer.h>

namespace beamdump::crash {

/// Writes what was named in the text: atoms, functions whose code addresses were met, funs,
/// exports, nodes, catches and shared code; fills in where they stand.
Result<void> write_names(const Names& names, std::string_view node_name, DumpWriter& writer,
                         records::Trailer& trailer);

}  // namespace beamdump::crash
