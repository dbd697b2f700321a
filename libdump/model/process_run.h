#pragma once

#include <libdump/base/error.h>
#include <libdump/model/region.h>
#include <libdump/read/dump_reader.h>

#include <cstdint>
#include <vector>

namespace beamdump {

/// The place of a pack (a record of many small items), and the address range that it covers.
struct Pack {
    std::uint64_t offset = 0;
    std::uint64_t first_index = 0;
    std::uint64_t count = 0;
    std::uint64_t lowest_address = 0;
    std::uint64_t highest_address = 0;  ///< one past the last
};

/// All pages of a run's directory. Grows with regions and packs (a pack has thousands of small
/// items), not with words.
struct Directory {
    std::vector<Region> regions;
    std::vector<Pack> packed_regions;
    std::vector<Pack> messages;
    std::vector<Pack> relations;
    std::vector<Pack> binaries;
};

/// Reads a chain of directory pages from its last one. Checked: each page is before the one that
/// refers to it, so the chain ends.
Result<Directory> read_directory(DumpReader& reader, const records::RunDirectory& last,
                                 std::uint64_t last_offset);

/// One process in the dump: the facts of its structure, how the copy ended, the places of its
/// regions and packs. Loading it reads no heap.
struct ProcessRun {
    records::ProcessRow row;
    records::Process process;
    records::ProcessEnd end;
    Directory directory;

    [[nodiscard]] std::uint64_t owner_id() const { return row.owner_id(); }
    [[nodiscard]] bool is_void() const { return end.void_reason() != records::VOID_REASON_NONE; }
    /// The first region of that kind, or null.
    [[nodiscard]] const Region* region(format::RegionKind kind) const;

    /// The run that an index row points to. kCorrupt if the records there are another process's.
    static Result<ProcessRun> load(DumpReader& reader, const records::ProcessRow& row);
};

/// Why a process's terms are not shown.
enum class Withheld : std::uint8_t { kNo, kVoid, kSensitive };

/// Whether a process's terms may be shown; with `sensitive`, also those of a process flagged
/// sensitive.
Withheld terms_withheld(const ProcessRun& run, bool sensitive);

}  // namespace beamdump
