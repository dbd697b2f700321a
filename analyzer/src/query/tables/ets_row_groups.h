#pragma once

#include "query/rows/row_list.h"
#include "query/tables/ets_rows.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// The columns of ets_row_groups(): key (its text with digits replaced by N, and only its first
/// bytes), shape (the kinds of the row's elements: {integer,{order,_},map}), size (the power of two
/// below the row's words), words.
std::span<const Column> ets_row_columns();

/// Rows evenly spread over a table, in groups by each field.
struct EtsRowSample {
    static constexpr std::uint64_t kRows = 1000;
    struct Groups {
        std::string_view by;  ///< shape, key or size
        std::uint64_t count = 0;
        std::vector<RowGroup> largest;  ///< by how many rows they have
    };
    std::uint64_t rows = 0;
    std::vector<Groups> groups;
};

/// Nothing where the listing shows all rows, chooses them by key, or has no more than kRows; and of
/// a compressed table. Reads kRows rows at most, whatever the table has.
Result<std::optional<EtsRowSample>> sample_ets_rows(EtsRowListing& listing);

/// The captured rows of a table as rows of a list, to be grouped. Of a compressed table kAbsent.
Result<RowList> ets_row_groups(EtsRowListing& listing, const RowQuery& query);

}  // namespace beamdump::query
