#pragma once

#include "query/rows/row_list.h"

#include <libdump/model/dump.h>

#include <string>

namespace beamdump::query {

/// Of list_ports().
std::span<const Column> port_columns();

/// The node's ports, as columns: port, name, driver, connected (a pid), owner (its registered
/// name), registered_name, input, output and queue (bytes), os_pid, busy, distribution, closing.
/// Sorted by a column of `query`. Of a crash dump, what its text has of each. kNotFound where the
/// dump has none: it was captured by an older version, or they could not be read.
Result<RowList> list_ports(Dump& dump, const std::string& file, const RowQuery& query);

}  // namespace beamdump::query
