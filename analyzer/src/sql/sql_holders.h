#pragma once

#include "query/rows/column.h"
#include "sql/sql_table.h"

#include <libdump/base/error.h>

#include <memory>
#include <span>

namespace beamdump::sql {

/// All reference-counted binaries.
Result<std::unique_ptr<Rows>> open_binaries(const Source& source, const Request& request);

/// The columns of the table of what holds a binary, pid, port or reference.
std::span<const query::Column> holder_columns();
Result<std::unique_ptr<Rows>> open_holders(const Source& source, const Request& request);

}  // namespace beamdump::sql
