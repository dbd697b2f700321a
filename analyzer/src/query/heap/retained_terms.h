#pragma once

#include "query/heap/heap_reading.h"

#include <libdump/base/error.h>

#include <vector>

namespace beamdump::query {

/// The terms with the largest retained sizes, largest first. Walks the heap three times.
Result<std::vector<LargeTermLine>> retained_terms(HeapReading& reading);

}  // namespace beamdump::query
