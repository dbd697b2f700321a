#pragma once

#include <libdump/base/error.h>
#include <libdump/model/region.h>
#include <libdump/read/dump_reader.h>

#include <cstdint>
#include <vector>

namespace beamdump {

/// Where a pack (a record of many small things) stands, and the addresses that it spans.
struct Pack {
    std::uint64_t offset = 0;
    std::uint64_t first_index = 0;
    std::uint64_t count = 0;
    std::uint64_t lowest_address = 0;
    std::uint64_t highest_address = 0;  ///< one past the last
};

/// All pages of a run's directory. Grows with regions and packs (a pack holds thousands of small
/// things), not with words.
struct Directory {
    std::vector<Region> regions;
    std::vector<Pack> packed_regions;
    std::vector<Pack> messages;
    std::vector<Pack> relations;
    std::vector<Pack> binaries;
};

/// Follows a chain of directory pages from its last one. Checked: each page is before the one that
/// names it, so a chain ends.
Result<Directory> read_directory(DumpReader& reader, const records::RunDirectory& last,
                                 std::uint64_t last_offset);

/// What the dump holds of one process: what its structure said, how the copy ended, where its
/// regions and packs stand. Reading one reads no heap.
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

/// Why nothing of a process's terms is shown.
enum class Withheld : std::uint8_t { kNo, kVoid, kSensitive };

/// Whether a process's terms may be shown; with `sensitive`, those of one flagged so, too.
Withheld terms_withheld(const ProcessRun& run, bool sensitive);

}  // namespace beamdump
