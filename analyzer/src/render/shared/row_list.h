#pragma once

#include "query/facts/dump_facts.h"
#include "query/rows/row_list.h"
#include "render/shared/json.h"
#include "render/shared/output.h"

#include <functional>
#include <optional>
#include <span>
#include <string_view>

namespace beamdump::render {

/// What an answer that is a list says of itself.
struct RowListTexts {
    std::string_view schema;  ///< "beamdump.NAME/VERSION"
    std::string_view member;  ///< the JSON member that holds the rows
    std::string_view things;  ///< in sentences: "ports"
    /// The tag of the sections that tell them in a crash dump, one each; empty: there are none.
    std::string_view section = {};
};

/// What an answer says beside its rows.
struct RowListExtras {
    std::function<void(Output&)> text_before = {};
    std::function<void(Output&)> text_after = {};
    std::function<void(JsonWriter&)> json_before = {};
    std::function<void(JsonWriter&)> json_after = {};
    /// Further members of a row.
    std::function<void(JsonWriter&, const query::Row&)> json_row = {};
    std::optional<query::Row> total = {};  ///< the last line of the table
};

/// A table, and how many rows more there are. Takes the list's rows.
void rows_text(Output& output, query::RowList& list, const query::DumpFacts& facts,
               const RowListTexts& texts, const RowListExtras& extras = {});
/// One object for each row, without members for absent cells. Takes the list's rows.
void rows_json(Output& output, query::RowList& list, const query::DumpFacts& facts,
               const RowListTexts& texts, const RowListExtras& extras = {});
/// The array of them alone, and the members of one row.
void row_array_json(JsonWriter& json, query::RowList& list, const RowListTexts& texts,
                    const RowListExtras& extras = {});
void row_members_json(JsonWriter& json, std::span<const query::Column> columns,
                      const query::Row& row);
/// Groups of rows, where the list has been asked for some, as text or as JSON. Takes them.
void row_groups(Output& output, query::RowList& list, const query::DumpFacts& facts,
                const RowListTexts& texts, std::string_view default_sort, bool json);

}  // namespace beamdump::render
