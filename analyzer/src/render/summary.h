#pragma once

#include "query/summary.h"
#include "render/output.h"

namespace beamdump::render {

void summary_text(Output& output, const query::Summary& summary);
/// schemas/json/summary.schema.json
void summary_json(Output& output, const query::Summary& summary);

}  // namespace beamdump::render
