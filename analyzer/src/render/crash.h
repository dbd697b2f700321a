#pragma once

#include "query/activity/crash.h"
#include "render/shared/output.h"

#include <cstddef>

namespace beamdump::render {

/// `most`: other threads at most.
void crash_text(Output& output, const query::Crash& crash, std::size_t most);
/// schemas/json/activity/crash.schema.json
void crash_json(Output& output, const query::Crash& crash);

}  // namespace beamdump::render
