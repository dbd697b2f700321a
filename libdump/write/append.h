#pragma once

#include <libdump/write/dump_writer.h>

#include <span>
#include <utility>

namespace beamdump {

/// The directory entry of a region written by append_region(). If fewer units were written than
/// `header` has, the rest is marked as unreadable.
records::RegionRef region_ref(const format::RegionHeader& header,
                              const DumpWriter::Placement& placed);

/// Appends a record and its offset to `offsets`.
Result<void> append_noted(DumpWriter& writer, format::RecordKind kind,
                          const google::protobuf::MessageLite& record,
                          google::protobuf::RepeatedField<std::uint64_t>& offsets);

/// Appends a page of atoms and adds it to the trailer.
Result<void> append_atoms(DumpWriter& writer, const records::Atoms& page,
                          records::Trailer& trailer);

/// Appends a module and adds it to the index.
Result<void> append_module(DumpWriter& writer, const records::Module& module,
                           records::ModuleIndexPage& index);

/// Appends readings and profiles, in pages.
Result<void> append_history(DumpWriter& writer, records::History history,
                            records::Trailer& trailer);

/// Appends the index of binaries' records, in pages: addresses and offsets, sorted by address, none
/// twice. Of several such runs a later one counts where an address is in both.
Result<void> append_binary_index(DumpWriter& writer, std::uint32_t run,
                                 std::span<const std::pair<std::uint64_t, std::uint64_t>> entries,
                                 google::protobuf::RepeatedPtrField<records::BinaryPageRef>& pages);

}  // namespace beamdump
