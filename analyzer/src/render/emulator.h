#pragma once

#include "query/activity/emulator.h"
#include "render/shared/output.h"

namespace beamdump::render {

void emulator_text(Output& output, const query::EmulatorReport& report);
/// schemas/json/activity/emulator.schema.json
void emulator_json(Output& output, const query::EmulatorReport& report);

}  // namespace beamdump::render
