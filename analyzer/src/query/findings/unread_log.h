#pragma once

#include "query/findings/node_facts.h"

#include <libdump/base/error.h>

#include <string>
#include <vector>

namespace beamdump::query {

/// Log events that a process of the log has not read.
struct UnreadLog {
    std::string name;  ///< registered name of the process
    ProcessLine line;
    std::uint64_t messages = 0;
    std::string first;  ///< the beginning of the first one; empty where it is not shown
};
/// Of each process that log events go through and that has so many messages unread that this says
/// something: one in a crash dump, as nobody will read it.
Result<std::vector<UnreadLog>> unread_logs(NodeFacts& facts);

}  // namespace beamdump::query
