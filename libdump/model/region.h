#pragma once

#include <libdump/base/error.h>
#include <libdump/format/format.h>
#include <libdump/read/dump_reader.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace beamdump {

/// A region of the node's memory and where its units are in the dump.
struct Region {
    format::RegionKind kind = format::RegionKind::kUnknown;
    format::RegionState state = format::RegionState::kWhole;
    std::uint64_t address = 0;
    std::uint64_t total = 0;   ///< units of the whole region: words, bytes for byte regions
    std::uint64_t here = 0;    ///< units in the dump, from the first on; never more than total
    std::uint64_t offset = 0;  ///< flat offset of the first Region record
    bool striped = false;
    std::uint64_t off_heap_first_address = 0;  ///< of a fragment's own list; 0: none

    [[nodiscard]] std::uint64_t unit_bytes() const;
    [[nodiscard]] std::uint64_t end_address() const { return address + total * unit_bytes(); }
};

/// kCorrupt if the sizes exceed the address space, or more units are here than in total.
Result<Region> region_of(const records::RegionRef& ref);

/// Reads bytes [from, from + into.size()) of a region, which must be here.
Result<void> read_region(DumpReader& reader, const Region& region, std::uint64_t from,
                         std::span<std::byte> into);

/// Why a region's words are not in the dump, as part of a sentence: "left out by redaction".
std::string_view absence_reason(format::RegionState state);

}  // namespace beamdump
