#include "query/diff/sources/compared_tables.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::query {

namespace {

/// Tables by their name alone: of those that are made again and again.
Result<void> read_names(DiffContext& context, std::size_t number, ThingTable& table) {
    const ComparedDump& dump = context.dumps[number];
    ASSIGN_OR_RETURN(const auto tables, compared_tables(dump));
    if (tables.empty() || !dump.whole) {
        return {};
    }
    table.begin(number);
    for (const EtsTableLine& line : tables) {
        table.add(line.name.value_or("(unknown)"), {.size = line.memory_bytes, .count = line.size});
    }
    return {};
}

constexpr DiffSource kNameSource = {
    .kind = {.name = "ets_names",
             .title = "ETS tables by name",
             .thing = "NAME",
             .size = "memory",
             .count = "rows",
             .members = "tables",
             .ranked = true,
             .members_ranked = true},
    .read = read_names,
};

}  // namespace

const DiffSource& ets_names_diff_source() {
    return kNameSource;
}

}  // namespace beamdump::query
