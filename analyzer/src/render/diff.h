#pragma once

#include "query/diff/diff.h"
#include "render/shared/output.h"

namespace beamdump::render {

void diff_text(Output& output, const query::DumpsDiff& diff);
/// schemas/json/diff.schema.json
void diff_json(Output& output, const query::DumpsDiff& diff);

}  // namespace beamdump::render
