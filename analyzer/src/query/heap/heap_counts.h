#pragma once

#include "query/heap/heap_reading.h"

#include <libdump/heap/heap_census.h>

namespace beamdump::query {

/// Fills the report's histograms: kinds of terms, record tags, map key sets.
void list_counts(HeapReading& reading, const HeapCensus& census, HeapReport& report);

}  // namespace beamdump::query
