#pragma once

#include "query/sections.h"
#include "render/output.h"

namespace beamdump::render {

Result<void> sections_text(Output& output, query::SectionListing& listing);
/// schemas/json/sections.schema.json
Result<void> sections_json(Output& output, query::SectionListing& listing);

}  // namespace beamdump::render
