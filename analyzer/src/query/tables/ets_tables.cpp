#include "query/tables/ets_tables.h"

#include "query/process/known_processes.h"
#include "query/process/process_line.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/process_name.h>
#include <libdump/model/dump_form.h>
#include <libdump/model/node_scheme.h>
#include <libdump/model/owner_id.h>

#include <fmt/format.h>

#include <array>
#include <map>

namespace beamdump::query {
namespace {

std::optional<std::string> type_text(records::EtsType type) {
    switch (type) {
        case records::ETS_TYPE_SET:
            return "set";
        case records::ETS_TYPE_BAG:
            return "bag";
        case records::ETS_TYPE_DUPLICATE_BAG:
            return "duplicate_bag";
        case records::ETS_TYPE_ORDERED_SET:
            return "ordered_set";
        default:
            return std::nullopt;
    }
}

std::optional<std::string> protection_text(records::EtsProtection protection) {
    switch (protection) {
        case records::ETS_PROTECTION_PRIVATE:
            return "private";
        case records::ETS_PROTECTION_PROTECTED:
            return "protected";
        case records::ETS_PROTECTION_PUBLIC:
            return "public";
        default:
            return std::nullopt;
    }
}

std::optional<std::string> concurrency_text(records::EtsWriteConcurrency concurrency) {
    switch (concurrency) {
        case records::ETS_WRITE_CONCURRENCY_FALSE:
            return "false";
        case records::ETS_WRITE_CONCURRENCY_TRUE:
            return "true";
        case records::ETS_WRITE_CONCURRENCY_AUTO:
            return "auto";
        default:
            return std::nullopt;
    }
}

template <typename Value>
std::optional<Value> known(bool is_known, Value value) {
    return is_known ? std::optional(value) : std::nullopt;
}

std::optional<std::string> reference_text(const records::EtsTable& table) {
    constexpr int kNumbers = 3;  // erl_term.h: ERTS_REF_NUMBERS
    if (table.reference_size() != kNumbers) {
        return std::nullopt;
    }
    return fmt::format("#Ref<0.{}.{}.{}>", table.reference(2), table.reference(1),
                       table.reference(0));
}

/// Pids, separated by spaces; nothing where there is none.
std::optional<std::string> fixers_text(const records::EtsTable& table) {
    constexpr int kMostShown = 100;
    std::string text;
    for (int at = 0; at < std::min(table.fixer_size(), kMostShown); ++at) {
        text += fmt::format("{}{}", text.empty() ? "" : " ", pid_text(table.fixer(at).owner_id()));
    }
    return text.empty() ? std::nullopt : std::optional(std::move(text));
}

EtsTableLine line_of(Dump& dump, const records::EtsTable& table) {
    EtsTableLine line;
    line.id = table.has_number() ? std::to_string(table.number()) : reference_text(table);
    if (table.has_name_atom()) {
        line.name = atom_text(dump, table.name_atom());
    }
    line.named_table = known(table.has_named(), table.named());
    line.type = type_text(table.type());
    if (table.has_owner_id()) {
        line.owner = pid_text(table.owner_id());
    }
    if (table.has_heir_id()) {
        line.heir = pid_text(table.heir_id());
    } else if (table.no_heir()) {
        line.heir = "none";
    }
    line.keypos = known<std::uint64_t>(table.has_key_position(), table.key_position());
    line.protection = protection_text(table.protection());
    line.size = known<std::uint64_t>(table.has_rows(), table.rows());
    line.memory_bytes = known<std::uint64_t>(table.has_bytes(), table.bytes());
    line.read_concurrency = known(table.has_read_concurrency(), table.read_concurrency());
    line.write_concurrency = concurrency_text(table.write_concurrency());
    line.decentralized_counters =
        known(table.has_decentralized_counters(), table.decentralized_counters());
    line.compressed = known(table.has_compressed(), table.compressed());
    line.fixed = known(table.has_fixed(), table.fixed());
    if (table.has_fixers()) {
        line.fixers = table.fixers();
        line.fixed_by = fixers_text(table);
    }
    if (table.has_fixed_since_us() && table.fixed_since_us() >= 0) {
        line.fixed_since_us = static_cast<std::uint64_t>(table.fixed_since_us());
    }
    line.ca_tree = known(table.has_ca_tree(), table.ca_tree());
    return line;
}

/// Registered names of the tables' owners, by one pass over the processes.
Result<void> name_owners(Dump& dump, std::vector<EtsTableLine>& tables) {
    std::map<std::string, std::optional<std::string>, std::less<>> names;
    for (const auto& table : tables) {
        if (table.owner) {
            names.emplace(*table.owner, std::nullopt);
        }
    }
    constexpr std::array kColumns = {records::PROCESS_COLUMN_OWNER_ID,
                                     records::PROCESS_COLUMN_REGISTERED_NAME};
    RETURN_IF_ERROR(
        dump.processes().visit(kColumns, [&](std::uint64_t, ProcessIndex::Values values) {
            if (values[0] && values[1]) {
                const auto owner = names.find(pid_text(*values[0]));
                if (owner != names.end()) {
                    owner->second = atom_text(dump, static_cast<std::uint32_t>(*values[1]));
                }
            }
            return true;
        }));
    for (auto& table : tables) {
        if (table.owner) {
            table.owner_name = names.at(*table.owner);
        }
    }
    return {};
}

/// The tables with what is not in their records: words, and names of the owners.
Result<std::vector<EtsTableLine>> completed(Dump& dump, std::vector<EtsTableLine> tables) {
    constexpr std::uint64_t kUsualWordBytes = 8;
    const auto told = node_word_bytes(dump);
    const auto word_bytes = told == 0 ? kUsualWordBytes : told;
    for (auto& table : tables) {
        if (table.memory_bytes) {
            table.memory_words = (*table.memory_bytes + word_bytes - 1) / word_bytes;
        }
    }
    RETURN_IF_ERROR(name_owners(dump, tables));
    return tables;
}

/// What is out of the ordinary, in the words of ets:new/2.
Cell options_cell(const EtsTableLine& table) {
    std::string text;
    const auto add = [&text](std::string_view word) {
        text += text.empty() ? "" : ", ";
        text += word;
    };
    if (table.write_concurrency && *table.write_concurrency != "false") {
        add(*table.write_concurrency == "true" ? std::string("write_concurrency")
                                               : "write_concurrency " + *table.write_concurrency);
    }
    const std::pair<std::optional<bool>, std::string_view> flags[] = {
        {table.read_concurrency, "read_concurrency"},
        {table.decentralized_counters, "decentralized_counters"},
        {table.compressed, "compressed"},
        {table.fixed, "fixed"}};
    for (const auto& [flag, word] : flags) {
        if (flag.value_or(false)) {
            add(word);
        }
    }
    return text;
}

constexpr auto kEtsFields = std::to_array<Field<EtsTableLine>>({
    field<&EtsTableLine::id>(
        {.name = "id", .title = "ID", .sentence = "Its reference: #Ref<0.1.2.3>"}),
    field<&EtsTableLine::name>({.name = "name",
                                .title = "NAME",
                                .kind = ColumnKind::kTextOfAll,
                                .shrinks = true,
                                .sentence = "An atom, as Erlang prints it"}),
    field<&EtsTableLine::named_table>({.name = "named_table", .kind = ColumnKind::kFlag}),
    field<&EtsTableLine::type>({.name = "type",
                                .title = "TYPE",
                                .kind = ColumnKind::kTextOfAll,
                                .one_of = "set bag duplicate_bag ordered_set"}),
    field<&EtsTableLine::owner>({.name = "owner", .title = "OWNER", .sentence = "A pid"}),
    field<&EtsTableLine::owner_name>(
        {.name = "owner_name", .sentence = "The owner's registered name"}),
    field<&EtsTableLine::owner_display_name>(
        {.name = "owner_display_name",
         .title = "OWNER NAME",
         .shrinks = true,
         .derived = true,
         .sentence = "What tables call the owner: its registered name, else its label, else "
                     "RabbitMQ's process_name, else its initial call; aliases of an Elixir node as "
                     "Elixir writes them"}),
    field<&EtsTableLine::owner_application>(
        {.name = "owner_application", .derived = true, .sentence = kApplicationSentence}),
    field<&EtsTableLine::heir>({.name = "heir", .sentence = "A pid, or none"}),
    field<&EtsTableLine::keypos>({.name = "keypos", .kind = ColumnKind::kSpan, .minimum = 1}),
    field<&EtsTableLine::protection>({.name = "protection",
                                      .title = "PROTECTION",
                                      .kind = ColumnKind::kTextOfAll,
                                      .one_of = "private protected public"}),
    field<&EtsTableLine::size>({.name = "size",
                                .title = "ROWS",
                                .kind = ColumnKind::kCount,
                                .also = "rows",
                                .sentence = "Rows"}),
    field<&EtsTableLine::memory_words>({.name = "memory_words",
                                        .kind = ColumnKind::kCount,
                                        .sentence = "Memory in words, as ets:info(Table, memory)",
                                        .exported = false}),
    field<&EtsTableLine::memory_bytes>(
        {.name = "memory_bytes", .title = "MEMORY", .kind = ColumnKind::kBytes, .also = "memory"}),
    field<&EtsTableLine::read_concurrency>({.name = "read_concurrency", .kind = ColumnKind::kFlag}),
    field<&EtsTableLine::write_concurrency>({.name = "write_concurrency",
                                             .kind = ColumnKind::kTextOfAll,
                                             .sentence = "true, false or auto"}),
    field<&EtsTableLine::decentralized_counters>(
        {.name = "decentralized_counters", .kind = ColumnKind::kFlag}),
    field<&EtsTableLine::compressed>({.name = "compressed", .kind = ColumnKind::kFlag}),
    field<&EtsTableLine::fixed>({.name = "fixed",
                                 .kind = ColumnKind::kFlag,
                                 .sentence = "By ets:safe_fixtable/2 or a traversal"}),
    field<&EtsTableLine::fixers>(
        {.name = "fixers",
         .kind = ColumnKind::kCountIfAny,
         .sentence = "Of a fixed table: processes that fixed it by ets:safe_fixtable/2; not those "
                     "of a traversal that is under way"}),
    field<&EtsTableLine::fixed_by>(
        {.name = "fixed_by",
         .sentence =
             "The first 100 of these: pids, separated by spaces; absent if there are none"}),
    field<&EtsTableLine::fixed_since_us>(
        {.name = "fixed_since_us",
         .kind = ColumnKind::kSpan,
         .sentence = "Since when it has such a process: microseconds since the Unix epoch, on the "
                     "node's clock"}),
    field<&EtsTableLine::ca_tree>({.name = "ca_tree",
                                   .kind = ColumnKind::kFlag,
                                   .sentence = "Of an ordered_set: a contention adapting tree"}),
    computed<EtsTableLine>({.name = "options",
                            .title = "OPTIONS",
                            .shrinks = true,
                            .exported = false,
                            .in_json = false},
                           options_cell),
});
constexpr auto kEtsColumns = columns_of(kEtsFields);

}  // namespace

std::span<const Column> ets_columns() {
    return kEtsColumns;
}

Row ets_table_row(const EtsTableLine& table) {
    return row_of(kEtsFields, table);
}

EtsTableLine ets_table_of(const Row& row) {
    return thing_of(kEtsFields, row);
}

EtsTableLine ets_table_of(const CellOf& cell_of) {
    return thing_of(kEtsFields, cell_of);
}

Result<std::vector<EtsTableLine>> ets_tables(Dump& dump) {
    std::vector<EtsTableLine> tables;
    if (dump.trailer().ets_tables_offset_size() == 0) {
        if (is_of_crash_dump(dump)) {
            return not_in_dump(dump, "ETS tables");
        }
        return fail(ErrorCode::kNotFound,
                    "the dump has no ETS tables: they were not captured, or the part of the file "
                    "with them is missing");
    }
    for (const auto offset : dump.trailer().ets_tables_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::EtsTables>(
                                              offset, format::RecordKind::kEtsTables));
        for (const auto& table : page.table()) {
            tables.push_back(line_of(dump, table));
            tables.back().index = tables.size() - 1;
        }
    }
    return completed(dump, std::move(tables));
}

Result<RowList> list_ets_tables(Dump& dump, const RowQuery& query) {
    ASSIGN_OR_RETURN(auto list, RowList::make(kEtsColumns, query));
    ASSIGN_OR_RETURN(const auto tables, ets_tables(dump));
    for (const auto& table : tables) {
        list.add(ets_table_row(table));
    }
    RETURN_IF_ERROR(
        name_processes(dump, list,
                       {.pid = column_place(kEtsColumns, "owner"),
                        .name = column_place(kEtsColumns, "owner_display_name"),
                        .application = column_place(kEtsColumns, "owner_application")}));
    return list;
}

}  // namespace beamdump::query
