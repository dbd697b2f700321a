#pragma once

#include "query/memory/memory.h"
#include "render/shared/json.h"
#include "render/shared/layout.h"
#include "render/shared/output.h"

namespace beamdump::render {

void allocators_text(Output& output, const query::Allocators& answer);
void allocators_json(Output& output, const query::Allocators& answer);
/// Each carrier, in place of the allocators.
void carriers_text(Output& output, const query::CarrierListing& listing, const Marks& marks);
void carriers_json(JsonWriter& json, const query::CarrierListing& listing);
/// Free blocks by size, and of how many carriers they are.
void free_blocks_text(Output& output, const query::FreeBlockSums& sums, const Marks& marks);
void free_blocks_json(JsonWriter& json, const query::FreeBlockSums& sums);
/// Tenths of a percent as "41.5%"; empty of nothing.
std::string tenths_text(const std::optional<std::uint64_t>& tenths);
/// What a part of the resident memory is, in words.
std::string resident_title(const std::string& name);
/// "12.3%" of the whole; empty of nothing.
std::string part_share_text(std::uint64_t part, std::uint64_t whole);

void memory_text(Output& output, const query::Memory& answer);
void memory_json(Output& output, const query::Memory& answer);

}  // namespace beamdump::render
