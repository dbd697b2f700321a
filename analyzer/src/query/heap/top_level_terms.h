#pragma once

#include "query/heap/heap_reading.h"

#include <libdump/base/error.h>
#include <libdump/heap/heap_census.h>

namespace beamdump::query {

/// The terms of the heap's blocks that no other object refers to, in address order; those that the
/// census has not reached are dead, except in crash dumps, which have only objects that the VM
/// reached. Fails if the scratch space does.
Result<TopLevelTermList> top_level_terms(HeapReading& reading, const HeapCensus& census);

}  // namespace beamdump::query
