#pragma once

#include "query/tables/modules.h"
#include "render/shared/output.h"

namespace beamdump::render {

void modules_text(Output& output, const query::ModuleReport& report);

void modules_json(Output& output, const query::ModuleReport& report);

}  // namespace beamdump::render
