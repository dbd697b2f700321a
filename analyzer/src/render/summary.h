#pragma once

#include "query/findings/summary.h"
#include "render/shared/output.h"

namespace beamdump::render {

void summary_text(Output& output, const query::Summary& summary);
/// schemas/json/summary.schema.json
void summary_json(Output& output, const query::Summary& summary);

}  // namespace beamdump::render
