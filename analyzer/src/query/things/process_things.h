#pragma once

#include "query/things/things.h"

#include <optional>
#include <string>
#include <unordered_set>

namespace beamdump::query {

/// Pids of the exported processes, as printed; nothing: all.
using Chosen = std::optional<std::unordered_set<std::string>>;

/// Kinds that are read of each process: parents, waits, links, monitors, frames, message shapes.
/// Things of the same kind come together. Those of processes that are not chosen are left out.
Result<ProcessesRead> visit_process_things(Dump& dump, const ThingsOptions& options,
                                           const Chosen& chosen, ThingVisitor& visitor);

/// Parents, waits and links alone, of all processes.
Result<ProcessesRead> visit_process_edges(Dump& dump, const ThingsOptions& options,
                                          ThingVisitor& visitor);

}  // namespace beamdump::query
