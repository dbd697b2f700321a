#pragma once

#include "query/diff/diff_source.h"
#include "query/tables/ets_tables.h"

#include <libdump/base/error.h>

#include <vector>

namespace beamdump::query {

/// All ETS tables of a dump or an export; none where it does not tell them.
Result<std::vector<EtsTableLine>> compared_tables(const ComparedDump& dump);

}  // namespace beamdump::query
