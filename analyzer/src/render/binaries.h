#pragma once

#include "query/holders/binaries.h"
#include "query/holders/node_binaries.h"
#include "render/shared/output.h"

namespace beamdump::render {

/// Take the rows of the list. `groups`: it was asked for groups of them.
void binaries_text(Output& output, query::NodeBinaries& answer, const query::DumpFacts& facts,
                   bool groups);
void binaries_json(Output& output, query::NodeBinaries& answer, const query::DumpFacts& facts,
                   bool groups);

void binary_leaks_text(Output& output, const query::BinaryLeaks& answer);
void binary_leaks_json(Output& output, const query::BinaryLeaks& answer);

}  // namespace beamdump::render
