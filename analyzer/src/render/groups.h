#pragma once

#include "query/processes/process_groups.h"
#include "query/processes/process_tree.h"
#include "query/waits/waits.h"
#include "render/shared/output.h"

namespace beamdump::render {

void process_groups_text(Output& output, const query::ProcessGroups& answer);

void process_groups_json(Output& output, const query::ProcessGroups& answer);

void process_tree_text(Output& output, const query::ProcessTree& answer);

void process_tree_json(Output& output, const query::ProcessTree& answer);

void waits_text(Output& output, const query::Waits& answer);

void waits_json(Output& output, const query::Waits& answer);

}  // namespace beamdump::render
