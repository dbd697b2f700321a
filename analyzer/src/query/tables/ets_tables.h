#pragma once

#include "query/facts/dump_facts.h"
#include "query/rows/fields.h"
#include "query/rows/row_list.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// One ETS table, in the words of ets:info/1. What the dump does not say is absent, never 0.
struct EtsTableLine {
    std::uint64_t index = 0;          ///< of the dump's tables
    std::optional<std::string> id;    ///< its reference, "#Ref<0.1.2.3>"
    std::optional<std::string> name;  ///< an atom, as Erlang prints it
    std::optional<bool> named_table;
    std::optional<std::string> type;        ///< set, bag, duplicate_bag, ordered_set
    std::optional<std::string> owner;       ///< a pid
    std::optional<std::string> owner_name;  ///< its registered name
    /// What tables call it (shown_name()); of those that list_ets_tables() lists only.
    std::optional<std::string> owner_display_name;
    std::optional<std::string> owner_application;  ///< of those too
    std::optional<std::string> heir;               ///< a pid, or none
    std::optional<std::uint64_t> keypos;
    std::optional<std::string> protection;      ///< private, protected, public
    std::optional<std::uint64_t> size;          ///< rows
    std::optional<std::uint64_t> memory_words;  ///< of memory_bytes, rounded up
    std::optional<std::uint64_t> memory_bytes;
    std::optional<bool> read_concurrency;
    std::optional<std::string> write_concurrency;  ///< true, false, auto
    std::optional<bool> decentralized_counters;
    std::optional<bool> compressed;
    std::optional<bool> fixed;
    std::optional<std::uint64_t> fixers;          ///< processes, by ets:safe_fixtable/2
    std::optional<std::string> fixed_by;          ///< the first 100 of them: pids
    std::optional<std::uint64_t> fixed_since_us;  ///< since the Unix epoch, on the node's clock
    std::optional<bool> ca_tree;                  ///< of an ordered_set: a contention adapting tree
};

/// All tables of a dump, in its order: from its records, or from the sections of a crash dump.
/// kNotFound, with the reason: the dump has none of either.
Result<std::vector<EtsTableLine>> ets_tables(Dump& dump);

/// The columns of list_ets_tables().
std::span<const Column> ets_columns();
/// Those that a list shows, and what it is sorted by, unless others are asked for.
inline constexpr std::string_view kShownEtsColumns =
    "name,type,size,memory_bytes,protection,owner,owner_display_name,id,options";
inline constexpr std::string_view kEtsSort = "memory_bytes,name";

/// All tables of a dump as rows. kNotFound as above.
Result<RowList> list_ets_tables(Dump& dump, const RowQuery& query);

/// The cells of a table in these columns.
Row ets_table_row(const EtsTableLine& table);
/// The table that has these cells.
EtsTableLine ets_table_of(const Row& row);
EtsTableLine ets_table_of(const CellOf& cell_of);

}  // namespace beamdump::query
