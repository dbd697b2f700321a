#pragma once

#include "query/facts/sections.h"
#include "render/shared/output.h"

namespace beamdump::render {

Result<void> sections_text(Output& output, query::SectionListing& listing);
/// schemas/json/sections.schema.json
Result<void> sections_json(Output& output, query::SectionListing& listing);

}  // namespace beamdump::render
