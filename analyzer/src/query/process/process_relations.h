#pragma once

#include "query/process/process_details.h"

namespace beamdump::query {

/// Fills links, monitors, monitored_by and suspending from a run's Relations records.
Result<void> read_relations(Dump& dump, const ProcessRun& run, TermPrinter& printer,
                            std::uint64_t limit, ProcessDetails& into);

}  // namespace beamdump::query
