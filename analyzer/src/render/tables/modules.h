#pragma once

#include "query/tables/modules.h"
#include "render/shared/output.h"

namespace beamdump::render {

/// A list of modules. Takes the rows.
void modules_text(Output& output, query::ModuleList& answer, const query::DumpFacts& facts);

void modules_json(Output& output, query::ModuleList& answer, const query::DumpFacts& facts);

}  // namespace beamdump::render
