#include "query/tables/ets_tables.h"

#include "query/node/process_line.h"
#include "query/process/process_names.h"
#include "query/tables/ets_sections.h"

#include <libdump/base/nearest.h>
#include <libdump/base/return_if_error.h>
#include <libdump/format/process_name.h>
#include <libdump/model/owner_id.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

namespace beamdump::query {
namespace {

using Field = std::pair<std::string_view, EtsField>;
constexpr std::array<Field, 5> kFields = {{{"id", EtsField::kId},
                                           {"name", EtsField::kName},
                                           {"owner", EtsField::kOwner},
                                           {"type", EtsField::kType},
                                           {"protection", EtsField::kProtection}}};

using Order = std::pair<std::string_view, EtsSort>;
constexpr std::array<Order, 3> kOrders = {
    {{"memory", EtsSort::kMemory}, {"size", EtsSort::kSize}, {"name", EtsSort::kName}}};

template <typename Names>
std::unexpected<Error> unknown(std::string_view what, std::string_view word, const Names& known) {
    Nearest nearest(word);
    std::vector<std::string_view> names;
    for (const auto& [name, value] : known) {
        names.push_back(name);
        nearest.add(name);
    }
    return fail(
        ErrorCode::kUsage,
        fmt::format(
            "there is no {} \"{}\": use {}{}", what, word, fmt::join(names, ", "),
            nearest.best().empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest.best())));
}

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

EtsTableLine line_of(Dump& dump, const records::EtsTable& table) {
    EtsTableLine line;
    line.id = reference_text(table);
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

/// What tables call the owners, of those that the process index has.
Result<void> show_owners(Dump& dump, std::vector<EtsTableLine>& tables) {
    std::set<std::uint64_t> owners;
    for (const auto& table : tables) {
        if (const auto owner = parse_pid(table.owner.value_or(""))) {
            owners.insert(*owner);
        }
    }
    ASSIGN_OR_RETURN(const auto names, ProcessNames(dump).of(owners));
    for (auto& table : tables) {
        const auto owner = parse_pid(table.owner.value_or(""));
        const auto name = owner ? names.find(*owner) : names.end();
        if (name != names.end()) {
            table.owner_display_name = name->second;
        }
    }
    return {};
}

bool contains(const std::optional<std::string>& text, const std::string& part) {
    return text && text->find(part) != std::string::npos;
}

bool matches(const EtsTableLine& table, const EtsFilter& filter) {
    const auto in = [&](EtsField field, const std::optional<std::string>& text) {
        return (filter.field == EtsField::kAny || filter.field == field) &&
               contains(text, filter.text);
    };
    return in(EtsField::kId, table.id) || in(EtsField::kName, table.name) ||
           in(EtsField::kOwner, table.owner) || in(EtsField::kOwner, table.owner_name) ||
           in(EtsField::kOwner, table.owner_display_name) || in(EtsField::kType, table.type) ||
           in(EtsField::kProtection, table.protection);
}

/// What tables sort by: numbers largest first, unknown ones last; then by name and place.
auto sort_key(const EtsTableLine& table, EtsSort sort) {
    const auto number = sort == EtsSort::kMemory ? table.memory_bytes
                        : sort == EtsSort::kSize ? table.size
                                                 : std::optional<std::uint64_t>(0);
    return std::tuple(!number.has_value(), ~number.value_or(0), table.name.value_or(""),
                      table.index);
}

}  // namespace

Result<EtsFilter> parse_ets_filter(std::string_view argument) {
    const auto equals = argument.find('=');
    const auto name = argument.substr(0, equals);
    const bool names_a_field =
        equals != std::string_view::npos && !name.empty() &&
        std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
    if (!names_a_field) {
        return EtsFilter{EtsField::kAny, std::string(argument)};
    }
    const auto* field = std::ranges::find(kFields, name, &Field::first);
    if (field == kFields.end()) {
        return unknown("field", name, kFields);
    }
    return EtsFilter{field->second, std::string(argument.substr(equals + 1))};
}

Result<EtsSort> parse_ets_sort(std::string_view name) {
    const auto* order = std::ranges::find(kOrders, name, &Order::first);
    return order == kOrders.end() ? unknown("sort order", name, kOrders)
                                  : Result<EtsSort>(order->second);
}

Result<std::vector<EtsTableLine>> ets_tables(Dump& dump) {
    std::vector<EtsTableLine> tables;
    if (is_of_crash_dump(dump)) {
        ASSIGN_OR_RETURN(tables, ets_tables_of_sections(dump));
        RETURN_IF_ERROR(name_owners(dump, tables));
        return tables;
    }
    if (dump.trailer().ets_tables_offset_size() == 0) {
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
    RETURN_IF_ERROR(name_owners(dump, tables));
    return tables;
}

Result<EtsListing> list_ets_tables(Dump& dump, const EtsQuery& query) {
    ASSIGN_OR_RETURN(auto tables, ets_tables(dump));
    EtsListing listing;
    listing.total = tables.size();
    // Of no table in a truncated text nothing is known, either.
    if (!tables.empty() || !dump.capture().has_cut_off()) {
        listing.memory_bytes = 0;
    }
    for (const auto& table : tables) {
        listing.memory_bytes = listing.memory_bytes && table.memory_bytes
                                   ? std::optional(*listing.memory_bytes + *table.memory_bytes)
                                   : std::nullopt;
    }
    if (!query.filters.empty()) {
        RETURN_IF_ERROR(show_owners(dump, tables));
    }
    std::erase_if(tables, [&](const EtsTableLine& table) {
        return !std::ranges::all_of(
            query.filters, [&](const EtsFilter& filter) { return matches(table, filter); });
    });
    listing.matching = tables.size();
    std::ranges::sort(tables, {},
                      [&](const EtsTableLine& table) { return sort_key(table, query.sort); });
    if (query.limit != 0 && tables.size() > query.limit) {
        tables.resize(query.limit);
    }
    if (query.filters.empty() && query.names) {
        RETURN_IF_ERROR(show_owners(dump, tables));
    }
    listing.tables = std::move(tables);
    return listing;
}

}  // namespace beamdump::query
