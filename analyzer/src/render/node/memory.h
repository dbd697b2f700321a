#pragma once

#include "query/memory/memory.h"
#include "render/shared/output.h"

namespace beamdump::render {

void allocators_text(Output& output, const query::Allocators& answer);
void allocators_json(Output& output, const query::Allocators& answer);
void memory_text(Output& output, const query::Memory& answer);
void memory_json(Output& output, const query::Memory& answer);

}  // namespace beamdump::render
