#pragma once

#include "query/rows/row_list.h"

#include <libdump/model/dump.h>

#include <functional>
#include <optional>
#include <string>

namespace beamdump::query {

/// The columns of list_nodes().
std::span<const Column> node_columns();

/// Other nodes that the node is or was connected to, or that its terms name, as columns: node, type
/// (visible, hidden, not_connected), state (connected, pending, exiting, idle), controller (a pid
/// or a port), name (a pid's registered name), queue (bytes to be sent), busy, suspended (how many
/// processes wait until the queue is shorter), processes (the first 100 of these), in and out
/// (packets), creation, connection_id. The last four of a connection. Of a crash dump: node, type,
/// controller and name. Counts rows by type. kNotFound where the dump has none: it was captured by
/// an older version, or they could not be read.
Result<RowList> list_nodes(Dump& dump, const RowQuery& query);

/// What the rules of findings look at.
struct NodeConnection {
    std::string node;
    bool busy = false;
    std::uint64_t queued_bytes = 0;
    std::optional<std::uint64_t> suspended;  ///< absent if it is not known
};
/// Visits the connections. kNotFound as above, and where the dump does not tell their queues.
Result<void> visit_connections(Dump& dump, const std::function<void(const NodeConnection&)>& visit);

}  // namespace beamdump::query
