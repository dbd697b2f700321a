#pragma once

#include "query/process_details.h"

#include <vector>

namespace beamdump::query {

/// What a process's structure says, in groups.
std::vector<FactGroup> process_facts(Dump& dump, const ProcessRun& run, TermPrinter& printer);

}  // namespace beamdump::query
