#pragma once

#include "query/node/dump_facts.h"

namespace beamdump::query {

/// Whether dumps are of one run of one node, so that a pid is the same process in both: node name,
/// creation, boot time, OS pid and crash are equal as far as both dumps have them.
bool same_run(const Dump& before, const DumpFacts& facts_before, const Dump& after,
              const DumpFacts& facts_after);

}  // namespace beamdump::query
