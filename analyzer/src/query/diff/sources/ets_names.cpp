#include "query/diff/diff_source.h"
#include "query/tables/ets_tables.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::query {

namespace {

/// Tables by their name alone: of those that are made again and again.
Result<void> read_names(DiffContext& context, std::size_t number, ThingTable& table) {
    const ComparedDump& dump = context.dumps[number];
    const auto tables = ets_tables(*dump.dump);
    if (!tables && tables.error().code != ErrorCode::kNotFound) {
        return std::unexpected(tables.error());
    }
    if (!tables || tables->empty() || !dump.whole) {
        return {};
    }
    table.begin(number);
    for (const EtsTableLine& line : *tables) {
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
