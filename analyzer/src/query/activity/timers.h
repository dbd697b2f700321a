#pragma once

#include "query/rows/row_list.h"

#include <libdump/model/dump.h>

#include <functional>
#include <optional>
#include <string>

namespace beamdump::query {

/// The columns of list_timers().
std::span<const Column> timer_columns();

/// The node's timers, as columns: kind (message, receive, port), receiver (a pid, a registered name
/// or a port), name (a pid's registered name), left_ms (at most that many milliseconds until its
/// timeout), orphaned (a message timer is for a name or a pid that no process has; absent where the
/// dump cannot tell), message_words, reference, scheduler, level (low: in a timer wheel; high: in
/// the tree of those beyond it). Of a crash dump, its message timers. Counts rows by kind.
/// kNotFound where the dump has none: it was captured by an older version, or they could not be
/// read.
Result<RowList> list_timers(Dump& dump, const RowQuery& query);

/// What the rules of findings look at: a message timer's receiver, and whether it is missing.
struct MessageTimer {
    std::string_view receiver;
    std::optional<bool> orphaned;
};
/// Visits all message timers. kNotFound as above.
Result<void> visit_message_timers(Dump& dump,
                                  const std::function<void(const MessageTimer&)>& visit);

}  // namespace beamdump::query
