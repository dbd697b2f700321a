#pragma once

#include "query/facts/dump_facts.h"
#include "query/process/opened_process.h"
#include "query/process/process_details.h"
#include "query/process/process_line.h"
#include "render/shared/output.h"

#include <libdump/text/json_writer.h>

#include <span>
#include <string_view>

namespace beamdump::render {

using beamdump::json_escaped;
using beamdump::JsonWriter;
using beamdump::write_objects;

/// The dump's facts as member "dump", "before" or "after"; then, if the layout was not made for the
/// node's release, "layout", "before_layout" or "after_layout".
void write_dump(JsonWriter& json, std::string_view name, const query::DumpFacts& facts);

/// A member with a column's name; none for an absent cell.
void write_cell(JsonWriter& json, const query::Column& column, const query::CellView& cell);

/// The members of a thing, whose fields are no computed ones.
template <typename Thing>
void write_fields(JsonWriter& json, std::span<const query::Field<Thing>> fields,
                  const Thing& thing) {
    for (const auto& field : fields) {
        write_cell(json, field.column, field.view(thing));
    }
}

/// A term's text, and whether it was truncated.
void write_term(JsonWriter& json, std::string_view name, const query::TermText& term);

/// The members of one message in a list.
void write_message_members(JsonWriter& json, const query::MessageLine& line);

/// The members of one process in a list.
void write_process_members(JsonWriter& json, const query::ProcessLine& line);

/// Member "process", and the reason if its terms are withheld.
void write_process(JsonWriter& json, const query::ProcessLine& line, Withheld withheld);

}  // namespace beamdump::render
