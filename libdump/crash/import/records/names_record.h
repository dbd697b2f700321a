#pragma once

#include <libdump/base/error.h>
#include <libdump/crash/import/words/names.h>
#include <libdump/write/dump_writer.h>

#include <crash_index.pb.h>
#include <span>

namespace beamdump::crash {

/// Writes what was named in the text: atoms, functions whose code addresses were met, funs,
/// exports, nodes, catches and shared code; fills in where they stand.
Result<void> write_names(const Names& names, std::string_view node_name, DumpWriter& writer,
                         records::Trailer& trailer);

/// Writes the atoms of these names alone.
Result<void> write_atoms(const Names& names, DumpWriter& writer, records::Trailer& trailer);

/// Writes the names that the facts of processes have, with their numbers. kLimit if the names are
/// more than a record holds each, kUsage if terms were read, whose names are not kept.
Result<void> save_names(const Names& names, DumpWriter& writer);

/// Reads them back into names that are empty. kCorrupt if they contradict each other; kLimit.
Result<void> restore_names(std::span<const records::CrashNames> pages, Names& names);

}  // namespace beamdump::crash
