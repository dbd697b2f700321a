#pragma once

#include "query/holders/binaries.h"
#include "query/holders/refs.h"
#include "render/shared/json.h"
#include "render/shared/layout.h"
#include "render/shared/output.h"

namespace beamdump::render {

// Holders are written as they are found: begin, each, end.

void holders_text_begin(Output& output, const query::DumpFacts& facts,
                        const query::RefTarget& target);
void holder_text(Output& output, const query::HolderLine& line, const query::DumpFacts& facts);
void holders_text_end(Output& output, const query::RefsAnswer& answer, std::uint64_t shown,
                      const std::optional<std::uint64_t>& references);

void holders_json_begin(JsonWriter& json, const query::DumpFacts& facts,
                        const query::RefTarget& target);
void holder_json(JsonWriter& json, const query::HolderLine& line);
void holders_json_end(JsonWriter& json, const query::RefsAnswer& answer,
                      const std::optional<std::uint64_t>& references);

/// "<0.12.0> name", or "-" of literals and of a table whose owner is not known.
std::string owner_text(const query::TermOwner& owner, const Marks& marks);
/// Members process, table and module, as far as there are such.
void write_owner(JsonWriter& json, const query::TermOwner& owner);
/// "2 processes, 1 ETS table and the literals of 3 modules": the last two where there are any.
std::string owners_text(std::uint64_t processes, std::uint64_t tables, std::uint64_t modules);
void write_owner_counts(JsonWriter& json, std::uint64_t processes, std::uint64_t tables,
                        std::uint64_t modules, const query::NodeSweepCounts& node);

/// "y(0) of frame 3 -> key users -> item 1".
std::string place_text(const query::TermPlace& place);
void write_place(JsonWriter& json, const query::TermPlace& place);

}  // namespace beamdump::render
