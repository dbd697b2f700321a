#pragma once

#include "query/rows/column.h"
#include "sql/sql_table.h"

#include <libdump/base/error.h>

#include <memory>
#include <span>

namespace beamdump::sql {

/// The columns of the table of what waits for what.
std::span<const query::Column> hang_columns();
/// Rows of all waits that `hang` follows. kLimit.
Result<std::unique_ptr<Rows>> open_hang(const Source& source, const Request& request);

}  // namespace beamdump::sql
