#pragma once

#include "query/process/process_details.h"
#include "render/shared/output.h"

namespace beamdump::render {

void process_details_text(Output& output, const query::ProcessDetails& details);
/// schemas/json/process.schema.json
void process_details_json(Output& output, const query::ProcessDetails& details);

}  // namespace beamdump::render
