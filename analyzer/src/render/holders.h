#pragma once

#include "query/holders/binaries.h"
#include "query/holders/refs.h"
#include "render/shared/json.h"
#include "render/shared/layout.h"
#include "render/shared/output.h"

#include <libdump/base/amount_text.h>

#include <optional>
#include <string>

namespace beamdump::render {

/// The content as text in UTF-8, if it is one: printable but for ends of lines and tabs. A final 0,
/// which C puts behind strings, does not count, nor does a character that is cut off.
std::optional<std::string> content_text(const query::BinaryBeginning& binary);

// Holders are written as they are found: begin, each, end.

/// `binary`: what is known of a target that is a binary.
void holders_text_begin(Output& output, const query::DumpFacts& facts,
                        const query::RefTarget& target,
                        const std::optional<query::BinaryBeginning>& binary);
/// `content`: the beginning of what the place shows of a binary, as far as the dump has it and it
/// is to be told.
void holder_text(Output& output, const query::NodeNames& names, const query::HolderLine& line,
                 const std::string& content);
void holders_text_end(Output& output, const query::RefsAnswer& answer, std::uint64_t shown,
                      const std::optional<std::uint64_t>& references);

void holders_json_begin(JsonWriter& json, const query::DumpFacts& facts,
                        const query::RefTarget& target,
                        const std::optional<query::BinaryBeginning>& binary);
void holder_json(JsonWriter& json, const query::HolderLine& line, const std::string& content);
void holders_json_end(JsonWriter& json, const query::RefsAnswer& answer,
                      const std::optional<std::uint64_t>& references);

/// "<0.12.0> name", or "-" of literals and of a table whose owner is not known.
std::string owner_text(const query::TermOwner& owner);
/// Members process, table, module and persistent_terms, as far as there are such.
void write_owner(JsonWriter& json, const query::TermOwner& owner);
/// What was searched of the node besides processes, and what not.
void write_searched(JsonWriter& json, const query::NodeSweepCounts& node);
/// What has places of what was searched for, in an answer of `refs` or `search`: "2 processes and 1
/// ETS table and the literals of 3 modules and persistent terms", those of which there are any.
template <typename Answer>
std::string owners_text(const Answer& answer) {
    std::string text = counted(answer.processes, "process", "processes");
    if (answer.tables != 0) {
        text += " and " + counted(answer.tables, "ETS table");
    }
    if (answer.modules != 0) {
        text += " and the literals of " + counted(answer.modules, "module");
    }
    return text + (answer.persistent_terms ? " and persistent terms" : "");
}
template <typename Answer>
void write_owner_counts(JsonWriter& json, const Answer& answer) {
    json.member("holding_processes", answer.processes);
    json.member("holding_tables", answer.tables);
    json.member("holding_modules", answer.modules);
    json.member("holding_persistent_terms", answer.persistent_terms);
    write_searched(json, answer.node);
}

/// "y(0) of frame 3 -> key users -> item 1".
std::string place_text(const query::TermPlace& place);
void write_place(JsonWriter& json, const query::TermPlace& place);

}  // namespace beamdump::render
