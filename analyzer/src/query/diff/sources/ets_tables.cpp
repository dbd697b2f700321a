#include "query/diff/sources/compared_tables.h"
#include "query/exported/exported_things.h"
#include "query/process/process_names.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/process_name.h>

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

namespace beamdump::query {

namespace {

/// A named table by its name. Others by their reference within one run, else by name and owner,
/// which several may share.
std::string key_of(const DiffContext& context, const EtsTableLine& table) {
    const std::string name = table.name.value_or("(unknown)");
    if (table.named_table.value_or(false)) {
        return name;
    }
    if (context.same_run && table.id) {
        return fmt::format("{} {}", name, *table.id);
    }
    const auto& owner = table.owner_name || !context.same_run ? table.owner_name : table.owner;
    return fmt::format("{} of {}", name, owner.value_or("unregistered processes"));
}

Result<void> read_tables(DiffContext& context, std::size_t number, ThingTable& table) {
    const ComparedDump& dump = context.dumps[number];
    ASSIGN_OR_RETURN(const auto tables, compared_tables(dump));
    // Of a crash dump that ends before its tables, or of a node without tables, none is told.
    if (tables.empty()) {
        return {};
    }
    table.begin(number, dump.whole);
    for (const EtsTableLine& line : tables) {
        table.add(key_of(context, line),
                  {.size = line.memory_bytes, .count = line.size, .place = line.index},
                  line.name.value_or("(unknown)"));
    }
    return {};
}

/// What tables call the owner, or its pid.
Result<std::optional<std::string>> shown_owner(const ComparedDump& dump, const EtsTableLine& line) {
    const auto owner = parse_pid(line.owner.value_or(""));
    if (owner && dump.dump != nullptr) {
        ASSIGN_OR_RETURN(auto names, ProcessNames(*dump.dump).of({*owner}));
        if (const auto name = names.find(*owner); name != names.end()) {
            return std::optional(std::move(name->second));
        }
    }
    return line.owner_name ? line.owner_name : line.owner;
}

Result<void> describe_tables(DiffContext& context, const ThingTable& table,
                             std::span<ThingChange*> things) {
    for (std::size_t number = 0; number < context.dumps.size(); ++number) {
        std::vector<EtsTableLine> lines;
        for (ThingChange* change : things) {
            const auto& thing = table.things()[change->number];
            if (thing.last_dump != number) {
                continue;
            }
            if (lines.empty()) {
                ASSIGN_OR_RETURN(lines, compared_tables(context.dumps[number]));
            }
            const EtsTableLine& line = lines.at(thing.place);
            change->add_detail("id", line.id);
            change->add_detail("name", line.name);
            change->add_detail("type", line.type);
            change->add_detail("owner", line.owner);
            change->add_detail("owner_name", line.owner_name);
            ASSIGN_OR_RETURN(const auto owner, shown_owner(context.dumps[number], line));
            if (owner) {
                change->title = fmt::format("{}, owner {}", change->key, *owner);
            }
        }
    }
    return {};
}

constexpr DiffSource kTableSource = {
    .kind = {.name = "ets_tables",
             .title = "ETS tables",
             .thing = "TABLE",
             .size = "memory",
             .count = "rows",
             .members = "tables",
             .appeared = "created",
             .gone = "deleted",
             .ranked = true,
             .container = "ets_names"},
    .read = read_tables,
    .describe = describe_tables,
};

}  // namespace

Result<std::vector<EtsTableLine>> compared_tables(const ComparedDump& dump) {
    if (dump.exported != nullptr) {
        return exported_tables(*dump.exported);
    }
    auto tables = ets_tables(*dump.dump);
    if (!tables && tables.error().code == ErrorCode::kNotFound) {
        return std::vector<EtsTableLine>();
    }
    return tables;
}

const DiffSource& ets_tables_diff_source() {
    return kTableSource;
}

}  // namespace beamdump::query
