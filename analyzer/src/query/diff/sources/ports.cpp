#include "query/activity/ports.h"

#include "query/activity/sockets.h"
#include "query/diff/diff_source.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
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
    auto list = list_ports(*dump.dump, query);
    if (!list && list.error().code != ErrorCode::kNotFound) {
        return std::unexpected(list.error());
    }
    // A crash dump that ends before its ports tells of none.
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

namespace {

struct SocketAmounts {
    std::optional<std::string> protocol;
    std::optional<std::string> state;
    std::optional<std::uint64_t> receive;
    std::optional<std::uint64_t> send;
};

/// What waits in the queues of both directions.
void add_socket(ThingTable& table, const SocketAmounts& socket) {
    const std::string protocol = socket.protocol.value_or("(unknown)");
    const auto queued = socket.receive || socket.send
                            ? std::optional(socket.receive.value_or(0) + socket.send.value_or(0))
                            : std::nullopt;
    table.add(socket.state ? fmt::format("{} {}", protocol, *socket.state) : protocol,
              {.size = queued});
}

/// By protocol and state: their number, and what is in their queues.
Result<void> read_sockets(DiffContext& context, std::size_t number, ThingTable& table) {
    const ComparedDump& dump = context.dumps[number];
    if (!dump.whole || !dump.form.system_process) {
        return {};
    }
    if (dump.exported != nullptr) {
        if (dump.exported->count(socket_kind()) == 0) {
            return {};
        }
        table.begin(number);
        return dump.exported->visit(socket_kind(), [&table](const ExportLine& line) {
            add_socket(table, {line.text("protocol"), line.text("state"),
                               line.number("receive_queue"), line.number("send_queue")});
        });
    }
    const RowQuery query{.sort = "receive_queue", .filters = {}, .limit = 0, .derived = false};
    auto list = list_sockets(*dump.dump, query);
    if (!list && list.error().code == ErrorCode::kNotFound) {
        return {};
    }
    if (!list) {
        return std::unexpected(std::move(list.error()));
    }
    table.begin(number);
    const auto columns = socket_columns();
    const auto text = [&](const Row& row, std::string_view name) {
        const auto* cell = std::get_if<std::string>(&row.at(column_place(columns, name)));
        return cell == nullptr ? std::nullopt : std::optional(*cell);
    };
    const auto amount = [&](const Row& row, std::string_view name) {
        const auto* cell = std::get_if<std::uint64_t>(&row.at(column_place(columns, name)));
        return cell == nullptr ? std::nullopt : std::optional(*cell);
    };
    for (const Row& row : list->take()) {
        add_socket(table, {text(row, "protocol"), text(row, "state"), amount(row, "receive_queue"),
                           amount(row, "send_queue")});
    }
    return {};
}

constexpr DiffSource kSocketSource = {
    .kind = {.name = "sockets",
             .title = "Sockets by protocol and state",
             .thing = "SOCKETS",
             .size = "queued",
             .members = "sockets",
             .sorted_by = Measure::kMembers},
    .read = read_sockets,
};

}  // namespace

const DiffSource& sockets_diff_source() {
    return kSocketSource;
}

}  // namespace beamdump::query
