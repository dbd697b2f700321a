#pragma once

#include "query/rows/row_list.h"

#include <libdump/model/dump.h>

#include <string>

namespace beamdump::query {

/// The columns of list_sockets().
std::span<const Column> socket_columns();

/// The sockets that the node's process had open, as the kernel told behind the capture, as columns:
/// fd, protocol, state, local, remote, receive_queue and send_queue (bytes), waiting (connections),
/// port, connected (a pid), owner (its registered name), inode. Port and owner are absent where the
/// socket was opened during the capture, and where no port of inet_drv has it. Sorted by a column
/// of `query`. kNotFound where the dump has none: of a core, a crash dump, an older version.
Result<RowList> list_sockets(Dump& dump, const RowQuery& query);

}  // namespace beamdump::query
