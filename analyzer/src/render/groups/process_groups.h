#pragma once

#include "query/groups/process_groups.h"
#include "render/shared/output.h"

namespace beamdump::render {

void process_groups_text(Output& output, const query::ProcessGroups& answer);

void process_groups_json(Output& output, const query::ProcessGroups& answer);

}  // namespace beamdump::render
