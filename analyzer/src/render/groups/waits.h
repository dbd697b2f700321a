#pragma once

#include "query/groups/waits.h"
#include "render/shared/output.h"

namespace beamdump::render {

void waits_text(Output& output, const query::Waits& answer);

void waits_json(Output& output, const query::Waits& answer);

}  // namespace beamdump::render
