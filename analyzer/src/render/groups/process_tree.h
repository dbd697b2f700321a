#pragma once

#include "query/groups/process_tree.h"
#include "render/shared/output.h"

namespace beamdump::render {

void process_tree_text(Output& output, const query::ProcessTree& answer);

void process_tree_json(Output& output, const query::ProcessTree& answer);

}  // namespace beamdump::render
