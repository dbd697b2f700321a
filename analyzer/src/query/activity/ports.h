#pragma once

#include "query/rows/row_list.h"

#include <libdump/model/dump.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace beamdump::query {

/// The columns of list_ports().
std::span<const Column> port_columns();

/// The node's ports, as columns: port, name, driver, connected (a pid), owner (its registered
/// name), owner_initial_call, registered_name, input, output and queue (bytes), os_pid, busy,
/// distribution, closing, orphaned (no process has that pid; absent where the dump cannot tell).
/// Sorted by a column of `query`. Of a crash dump, what its text has of each. kNotFound where the
/// dump has none: it was captured by an older version, or they could not be read.
Result<RowList> list_ports(Dump& dump, const RowQuery& query);

/// What the rules of findings look at.
struct PortState {
    std::string port;
    std::string name;       ///< of its driver or program; empty: not known
    std::string connected;  ///< a pid; empty: not known
    std::uint64_t queued_bytes = 0;
    std::optional<std::uint64_t> suspended;  ///< processes until it is not busy
    bool busy = false;
    bool closing = false;
    bool distribution = false;
    std::optional<bool> orphaned;
};
/// Visits all ports. kNotFound as above.
Result<void> visit_ports(Dump& dump, const std::function<void(const PortState&)>& visit);

}  // namespace beamdump::query
