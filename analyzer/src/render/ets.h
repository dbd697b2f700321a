#pragma once

#include "query/tables/ets_rows.h"
#include "query/tables/ets_tables.h"
#include "render/shared/output.h"

namespace beamdump::render {

/// A list of tables. Takes the rows.
void ets_text(Output& output, query::RowList& list, const query::DumpFacts& facts);
void ets_json(Output& output, query::RowList& list, const query::DumpFacts& facts);

Result<void> ets_rows_text(Output& output, query::EtsRowListing& listing,
                           const query::DumpFacts& facts);
Result<void> ets_rows_json(Output& output, query::EtsRowListing& listing,
                           const query::DumpFacts& facts);

}  // namespace beamdump::render
