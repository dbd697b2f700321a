#pragma once

#include "query/facts/dump_facts.h"
#include "query/process/process_line.h"
#include "query/processes/process_columns.h"
#include "query/processes/processes.h"
#include "render/shared/layout.h"
#include "render/shared/output.h"

#include <libdump/base/error.h>

#include <span>
#include <string_view>

namespace beamdump::render {

/// Processes as rows: pid, name, memory, reductions, messages, status, current function. A line
/// about the processes' memory, if it was computed instead of read. `which`: of two dumps, "before:
/// " or "after: ".
void print_memory_notice(Output& output, const query::DumpFacts& facts,
                         std::string_view which = "");

void print_process_table(Output& output, std::span<const query::ProcessLine> lines,
                         std::string_view indent = "");
/// With further columns. `word_bytes`: of the node.
void print_process_table(Output& output, std::span<const query::ProcessLine> lines,
                         const query::ColumnChoice& columns, std::uint64_t word_bytes,
                         std::string_view indent = "");

/// The name of a process in a row: its registered name, else its initial call.
std::string process_name(const query::ProcessLine& line);

/// Both read the listing batch by batch, and stop early when the output fails.
Result<void> processes_text(Output& output, query::ProcessListing& listing,
                            const query::DumpFacts& facts);
/// schemas/json/processes.schema.json
Result<void> processes_json(Output& output, query::ProcessListing& listing,
                            const query::DumpFacts& facts);

}  // namespace beamdump::render
