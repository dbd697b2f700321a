#pragma once

#include "query/tables/atoms.h"
#include "render/shared/output.h"

namespace beamdump::render {

void atoms_text(Output& output, const query::AtomReport& report, bool list);

void atoms_json(Output& output, const query::AtomReport& report, bool list);

}  // namespace beamdump::render
