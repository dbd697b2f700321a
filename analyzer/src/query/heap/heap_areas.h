#pragma once

#include "query/heap/heap.h"
#include "query/heap/heap_reading.h"

#include <libdump/heap/heap_census.h>

namespace beamdump::query {

/// Fills in how the process's memory is used, and what a major collection would make of it.
void list_areas(const HeapReading& reading, const HeapCensus& census, HeapReport& report);

}  // namespace beamdump::query
