#pragma once

#include "query/node/diff.h"
#include "render/shared/output.h"

namespace beamdump::render {

void diff_text(Output& output, const query::DumpDiff& diff);
/// schemas/json/diff.schema.json
void diff_json(Output& output, const query::DumpDiff& diff);

}  // namespace beamdump::render
