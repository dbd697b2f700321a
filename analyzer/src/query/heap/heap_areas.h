#pragma once

#include "query/heap/heap.h"
#include "query/heap/heap_reading.h"

#include <libdump/heap/heap_census.h>

namespace beamdump::query {

/// Fills the report's memory areas and the estimate of a major collection.
void list_areas(const HeapReading& reading, const HeapCensus& census, HeapReport& report);

}  // namespace beamdump::query
