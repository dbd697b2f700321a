#pragma once

#include <libdump/coding/word_coding.h>
#include <libdump/format/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace beamdump::coding {

/// Words of a record that are coded: of a region, or a column of addresses.
struct WordBlock {
    std::span<std::byte> words;
    std::optional<RegionRange> region;  ///< nothing: a column
    std::uint64_t first_address = 0;    ///< of the first word, in a region
};

using VisitBlock = std::function<void(const WordBlock&)>;

/// Visits the blocks of 16 words and more in Region, PackedRegions, Messages, Functions, Lines and
/// Exports, of words of 8 bytes. False if the payload is malformed. `visit` may change the words,
/// which does not change what is visited. Allocates nothing.
bool visit_blocks(format::RecordKind kind, std::span<std::byte> payload, const VisitBlock& visit);

}  // namespace beamdump::coding
