#pragma once

#include "query/waits/hang.h"
#include "render/shared/output.h"

namespace beamdump::render {

void hang_text(Output& output, const query::Hang& answer);

/// schemas/json/hang.schema.json
void hang_json(Output& output, const query::Hang& answer);

}  // namespace beamdump::render
