#pragma once

#include <span>
#include <string>
#include <vector>

namespace beamdump::query {

// Which values of the answers were read through which fields of the layout (libvm/beam). A
// value has the name of its JSON member: "reductions" is the same in every answer, at any depth.
// Ambiguous names are written as a path that starts with the command: "process.memory.heap_size".
// Names that begin with "term." stand for parts of terms: "term.fun".

/// The values that were read through any of the fields ("Process.reds"), sorted, each once.
std::vector<std::string> values_read_through(std::span<const std::string> fields);

/// Errors in the tables, for a test: undefined names, and groups that contain themselves.
std::vector<std::string> source_faults();

}  // namespace beamdump::query
