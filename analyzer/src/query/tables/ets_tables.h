#pragma once

#include "query/node/dump_facts.h"

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
    /// What tables call it (shown_name()); of list_ets_tables() only.
    std::optional<std::string> owner_display_name;
    std::optional<std::string> heir;  ///< a pid, or none
    std::optional<std::uint64_t> keypos;
    std::optional<std::string> protection;  ///< private, protected, public
    std::optional<std::uint64_t> size;      ///< rows
    std::optional<std::uint64_t> memory_bytes;
    std::optional<bool> read_concurrency;
    std::optional<std::string> write_concurrency;  ///< true, false, auto
    std::optional<bool> decentralized_counters;
    std::optional<bool> compressed;
    std::optional<bool> fixed;
    std::optional<bool> ca_tree;  ///< of an ordered_set: a contention adapting tree
};

enum class EtsSort : std::uint8_t { kMemory, kSize, kName };

/// What a filter's text is searched for in.
enum class EtsField : std::uint8_t { kAny, kId, kName, kOwner, kType, kProtection };

/// Keeps tables where the field (as shown) contains the text.
struct EtsFilter {
    EtsField field = EtsField::kAny;
    std::string text;
};

/// `text`, which is searched for in all fields, or `field=text`. kUsage: there is no such field.
Result<EtsFilter> parse_ets_filter(std::string_view argument);

/// memory, size or name. kUsage.
Result<EtsSort> parse_ets_sort(std::string_view name);

struct EtsQuery {
    EtsSort sort = EtsSort::kMemory;
    std::vector<EtsFilter> filters;  ///< all must hold
    std::uint64_t limit = 20;        ///< 0: all
    bool names = true;               ///< what tables call the owners
};

/// The tables asked for, in order.
struct EtsListing {
    std::vector<EtsTableLine> tables;
    std::uint64_t total = 0;  ///< in the dump
    std::uint64_t matching = 0;
    std::optional<std::uint64_t> memory_bytes;  ///< of all tables of the dump, where known of each
};

/// All tables of a dump, in its order: from its records, or from the sections of a crash dump.
/// kNotFound, with the reason: the dump has none of either.
Result<std::vector<EtsTableLine>> ets_tables(Dump& dump);

Result<EtsListing> list_ets_tables(Dump& dump, const EtsQuery& query);

}  // namespace beamdump::query
