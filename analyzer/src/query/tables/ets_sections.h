#pragma once

#include "query/tables/ets_tables.h"

namespace beamdump::query {

/// The tables of a crash dump, as far as its sections `=ets:` say. Memory: all of them.
Result<std::vector<EtsTableLine>> ets_tables_of_sections(Dump& dump);

}  // namespace beamdump::query
