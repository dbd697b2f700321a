#pragma once

#include "query/holders/binaries.h"
#include "render/shared/output.h"

namespace beamdump::render {

void binaries_text(Output& output, const query::NodeBinaries& answer);
void binaries_json(Output& output, const query::NodeBinaries& answer);

void binary_leaks_text(Output& output, const query::BinaryLeaks& answer);
void binary_leaks_json(Output& output, const query::BinaryLeaks& answer);

}  // namespace beamdump::render
