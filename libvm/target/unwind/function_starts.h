#pragma once

#include <libvm/memory/memory_source.h>

#include <optional>
#include <span>

namespace beamdump::target {

/// Where the function at an address begins, by the sorted table in .eh_frame_hdr (Linux Standard
/// Base 5.0, "DWARF Extensions"), which stripped files have too. `header`: the section's bytes,
/// `header_address`: where they are; both addresses by the file's own count or both as loaded.
/// Nothing: no function begins before, or the table has another form than the one that linkers
/// write. Every number is checked against the bytes.
std::optional<memory::Address> function_start(std::span<const std::byte> header,
                                              memory::Address header_address,
                                              memory::Address address);

}  // namespace beamdump::target
