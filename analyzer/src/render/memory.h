#pragma once

#include "query/memory/memory.h"
#include "render/shared/json.h"
#include "render/shared/layout.h"
#include "render/shared/output.h"
#include "render/shared/row_list.h"

namespace beamdump::render {

/// Each allocator, or each carrier where they were asked for. Takes the rows.
void allocators_text(Output& output, query::Allocators& answer, const query::DumpFacts& facts);
void allocators_json(Output& output, query::Allocators& answer, const query::DumpFacts& facts);
/// What a part of the resident memory is, in words.
std::string resident_title(const std::string& name);
/// "12.3%" of the whole; empty of nothing.
std::string part_share_text(std::uint64_t part, std::uint64_t whole);

void memory_text(Output& output, const query::Memory& answer);
void memory_json(Output& output, const query::Memory& answer);

}  // namespace beamdump::render
