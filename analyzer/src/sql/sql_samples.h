#pragma once

#include "query/rows/column.h"
#include "sql/sql_table.h"

#include <libdump/base/error.h>

#include <memory>
#include <span>

namespace beamdump::sql {

/// The columns of the table of what threads did before the capture.
std::span<const query::Column> sample_columns();
/// kNotFound: the dump has no samples.
Result<std::unique_ptr<Rows>> open_samples(const Source& source, const Request& request);

}  // namespace beamdump::sql
