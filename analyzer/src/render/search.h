#pragma once

#include "query/holders/search.h"
#include "render/shared/json.h"
#include "render/shared/output.h"

#include <string_view>

namespace beamdump::render {

// Terms are written as they are found: begin, each, end.

void search_text_begin(Output& output, const query::DumpFacts& facts);
void found_text(Output& output, const query::NodeNames& names, const query::FoundTerm& term);
void search_text_end(Output& output, const query::SearchAnswer& answer, std::uint64_t shown);

void search_json_begin(JsonWriter& json, const query::DumpFacts& facts, std::string_view pattern,
                       std::string_view text);
void found_json(JsonWriter& json, const query::FoundTerm& term);
void search_json_end(JsonWriter& json, const query::SearchAnswer& answer);

}  // namespace beamdump::render
