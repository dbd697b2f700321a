#include "query/activity/ports.h"

#include "query/diff/diff_source.h"

#include <libdump/base/return_if_error.h>

#include <string>
#include <variant>

namespace beamdump::query {

namespace {

Result<void> read_exported_ports(const ComparedDump& dump, std::size_t number, ThingTable& table) {
    if (!dump.whole || dump.exported->count(port_kind()) == 0) {
        return {};
    }
    table.begin(number);
    return dump.exported->visit(port_kind(), [&table](const ExportLine& line) {
        table.add(line.text("name").value_or("(unknown)"), {.size = line.number("queue")});
    });
}

/// By driver or command: their number, and what waits in their queues.
Result<void> read_ports(DiffContext& context, std::size_t number, ThingTable& table) {
    const ComparedDump& dump = context.dumps[number];
    if (dump.exported != nullptr) {
        return read_exported_ports(dump, number, table);
    }
    const RowQuery query{.sort = "queue", .filters = {}, .limit = 0, .derived = false};
    auto list = list_ports(*dump.dump, dump.facts.file, query);
    if (!list && list.error().code != ErrorCode::kNotFound) {
        return std::unexpected(list.error());
    }
    // Of a crash dump that ends before its ports, none is told.
    if (!list || !dump.whole || (dump.of_crash_dump && list->total() == 0)) {
        return {};
    }
    table.begin(number);
    const std::size_t name = column_place(port_columns(), "name");
    const std::size_t queue = column_place(port_columns(), "queue");
    for (const Row& row : list->take()) {
        const auto* text = std::get_if<std::string>(&row.at(name));
        const auto* bytes = std::get_if<std::uint64_t>(&row.at(queue));
        table.add(text != nullptr ? *text : "(unknown)",
                  {.size = bytes != nullptr ? std::optional(*bytes) : std::nullopt});
    }
    return {};
}

constexpr DiffSource kPortSource = {
    .kind = {.name = "ports",
             .title = "Ports by name",
             .thing = "NAME",
             .size = "queue",
             .members = "ports",
             .sorted_by = Measure::kMembers,
             .ranked = true,
             .members_ranked = true},
    .read = read_ports,
};

}  // namespace

const DiffSource& ports_diff_source() {
    return kPortSource;
}

}  // namespace beamdump::query
