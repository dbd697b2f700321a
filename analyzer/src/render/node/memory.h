#pragma once

#include "query/memory/memory.h"
#include "render/shared/output.h"

namespace beamdump::render {

void allocators_text(Output& output, const query::Allocators& answer);
void allocators_json(Output& output, const query::Allocators& answer);
/// What a part of the resident memory is, in words.
std::string resident_title(const std::string& name);
/// "12.3%" of the whole; empty of nothing.
std::string part_share_text(std::uint64_t part, std::uint64_t whole);

void memory_text(Output& output, const query::Memory& answer);
void memory_json(Output& output, const query::Memory& answer);

}  // namespace beamdump::render
