#pragma once

#include "query/facts/dump_facts.h"
#include "query/tables/atoms.h"
#include "render/shared/output.h"

#include <string_view>

namespace beamdump::render {

/// They take the list's rows, or its groups where it was asked for some.
void atoms_text(Output& output, query::AtomsAnswer& answer, const query::DumpFacts& facts,
                query::AtomRows rows);
void atoms_json(Output& output, query::AtomsAnswer& answer, const query::DumpFacts& facts,
                query::AtomRows rows);

}  // namespace beamdump::render
