#pragma once

#include "query/heap/heap.h"
#include "render/shared/output.h"

namespace beamdump::render {

void heap_text(Output& output, const query::HeapReport& report);

/// See schemas/json/heap.schema.json.
void heap_json(Output& output, const query::HeapReport& report);

}  // namespace beamdump::render
