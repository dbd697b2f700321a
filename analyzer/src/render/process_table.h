#pragma once

#include "query/process_line.h"
#include "render/layout.h"
#include "render/output.h"

#include <span>
#include <string_view>

namespace beamdump::render {

/// Processes as rows: pid, name, memory, reductions, messages, status, current function.
void print_process_table(Output& output, std::span<const query::ProcessLine> lines,
                         const Marks& marks, std::string_view indent = "");

/// What a process goes by in a row: its registered name, else what it was started with.
std::string process_name(const query::ProcessLine& line, const Marks& marks);

}  // namespace beamdump::render
