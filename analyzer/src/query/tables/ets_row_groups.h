#pragma once

#include "query/rows/row_list.h"
#include "query/tables/ets_rows.h"

#include <libdump/base/error.h>

#include <span>

namespace beamdump::query {

/// Of ets_row_groups(): key (its text with digits replaced by N, and only its first bytes), shape
/// (the kinds of the row's elements: {integer,{order,_},map}), size (the power of two below the
/// row's words), words.
std::span<const Column> ets_row_columns();

/// The captured rows of a table as rows of a list, to be grouped. Of a compressed table kAbsent.
Result<RowList> ets_row_groups(EtsRowListing& listing, const RowQuery& query);

}  // namespace beamdump::query
