#pragma once

#include <span>
#include <string>
#include <vector>

namespace beamdump::query {

// Which values of the answers were read through which fields of the layout (writer/src/beam). A
// value uses the name of its JSON member: "reductions" is that in every answer that has it, at any
// depth. Where a name means different things, it is the whole path, the command first:
// "process.memory.heap_size". Names that begin with "term." stand for parts of terms: "term.fun".

/// The values that were read through any of the fields ("Process.reds"), sorted, each once.
std::vector<std::string> values_read_through(std::span<const std::string> fields);

/// Names that are used in the tables and are not in them; and groups that contain themselves. None,
/// unless the tables are wrong.
std::vector<std::string> source_faults();

}  // namespace beamdump::query
