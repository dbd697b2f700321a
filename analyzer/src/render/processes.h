#pragma once

#include "query/node/processes.h"
#include "render/shared/output.h"

#include <libdump/base/error.h>

namespace beamdump::render {

/// Both read the listing batch by batch, and stop early when the output fails.
Result<void> processes_text(Output& output, query::ProcessListing& listing,
                            const query::DumpFacts& facts);
/// schemas/json/processes.schema.json
Result<void> processes_json(Output& output, query::ProcessListing& listing,
                            const query::DumpFacts& facts);

}  // namespace beamdump::render
