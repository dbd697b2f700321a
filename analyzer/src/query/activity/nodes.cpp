#include "query/activity/nodes.h"

#include "query/facts/sections.h"
#include "query/process/known_processes.h"
#include "query/process/process_line.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/owner_id.h>
#include <libdump/term/atom_text.h>

#include <array>
#include <vector>

namespace beamdump::query {

namespace {

/// The columns' places in a row.
struct Node {
    enum Place : std::uint8_t {
        kNode,
        kType,
        kState,
        kController,
        kName,
        kDisplayName,
        kQueue,
        kBusy,
        kSuspended,
        kProcesses,
        kIn,
        kOut,
        kCreation,
        kConnection,
        kPlaces
    };
};

constexpr std::array<Column, Node::kPlaces> kNodeColumns = {
    {{.name = "node", .title = "NODE", .shrinks = true, .sentence = "The other node's name"},
     {.name = "type",
      .title = "TYPE",
      .sentence = "As the sections of a crash dump; not_connected: it may be being connected",
      .one_of = "visible hidden not_connected"},
     {.name = "state",
      .title = "STATE",
      .sentence =
          "pending: it is being connected; exiting: its connection is being closed; idle: no "
          "connection. Absent in a crash dump, where visible and hidden nodes may be exiting",
      .one_of = "connected pending exiting idle"},
     {.name = "controller",
      .title = "CONTROLLER",
      .sentence = "The process or port that handles the connection: a pid or #Port<0.N>"},
     {.name = "name", .sentence = "The registered name of that pid"},
     {.name = "controller_display_name",
      .title = "NAME",
      .shrinks = true,
      .derived = true,
      .sentence =
          "What tables call that process: its registered name, else its label, else RabbitMQ's "
          "process_name, else its initial call; aliases of an Elixir node as Elixir writes them"},
     {.name = "queue",
      .title = "QUEUE",
      .kind = ColumnKind::kBytes,
      .sentence = "Bytes that the VM has to send to it, without those of the port and the kernel"},
     {.name = "busy",
      .title = "BUSY",
      .kind = ColumnKind::kFlag,
      .sentence = "The queue reached the limit (+zdbbl): processes that send are suspended until "
                  "it is shorter and the port accepts data"},
     {.name = "suspended",
      .title = "SUSPENDED",
      .kind = ColumnKind::kCount,
      .sentence = "Processes that are suspended until the queue is shorter"},
     {.name = "processes",
      .sentence = "The first 100 of these: pids, separated by spaces; absent if there are none"},
     {.name = "in",
      .title = "IN",
      .kind = ColumnKind::kCount,
      .sentence = "Packets received on this connection"},
     {.name = "out",
      .title = "OUT",
      .kind = ColumnKind::kCount,
      .sentence = "Packets sent on this connection"},
     {.name = "creation", .kind = ColumnKind::kId, .sentence = "The connected node's creation"},
     {.name = "connection_id",
      .kind = ColumnKind::kId,
      .sentence = "Of the connections to this node"}}};

std::optional<std::string> state_text(records::DistributionState state) {
    switch (state) {
        case records::DISTRIBUTION_STATE_IDLE:
            return "idle";
        case records::DISTRIBUTION_STATE_PENDING:
            return "pending";
        case records::DISTRIBUTION_STATE_CONNECTED:
            return "connected";
        case records::DISTRIBUTION_STATE_EXITING:
            return "exiting";
        default:
            return std::nullopt;
    }
}

/// As a crash dump's sections have it (dist.c, distribution_info()).
std::optional<std::string> type_text(const records::DistributionEntry& entry) {
    switch (entry.state()) {
        case records::DISTRIBUTION_STATE_IDLE:
        case records::DISTRIBUTION_STATE_PENDING:
        case records::DISTRIBUTION_STATE_NOT_CONNECTED:
            return "not_connected";
        default:
            return entry.has_visible()
                       ? std::optional<std::string>(entry.visible() ? "visible" : "hidden")
                       : std::nullopt;
    }
}

/// Without the quotes that the atom needs in Erlang.
std::string node_name(Dump& dump, std::uint32_t atom) {
    auto name = dump.atoms().text(atom);
    return name ? std::move(*name) : atom_text(dump, atom);
}

Row row_of(Dump& dump, const records::DistributionEntry& entry) {
    Row row(Node::kPlaces);
    const auto put = [&](Node::Place place, bool has, std::uint64_t value) {
        if (has) {
            row[place] = value;
        }
    };
    if (entry.has_name_atom()) {
        row[Node::kNode] = node_name(dump, entry.name_atom());
    }
    if (auto type = type_text(entry)) {
        row[Node::kType] = std::move(*type);
    }
    if (auto state = state_text(entry.state())) {
        row[Node::kState] = std::move(*state);
    }
    if (entry.has_controller_owner_id()) {
        row[Node::kController] = pid_text(entry.controller_owner_id());
    } else if (entry.has_controller_port_number()) {
        row[Node::kController] = port_text(entry.controller_port_number());
    }
    if (entry.has_busy()) {
        row[Node::kBusy] = entry.busy();
    }
    if (const auto& pids = entry.suspended_owner_id(); !pids.empty()) {
        row[Node::kProcesses] = pids_text({pids.data(), static_cast<std::size_t>(pids.size())});
    }
    put(Node::kQueue, entry.has_queued_bytes(), entry.queued_bytes());
    put(Node::kSuspended, entry.has_suspended(), entry.suspended());
    put(Node::kIn, entry.has_packets_in(), entry.packets_in());
    put(Node::kOut, entry.has_packets_out(), entry.packets_out());
    put(Node::kCreation, entry.has_creation(), entry.creation());
    put(Node::kConnection, entry.has_connection_id(), entry.connection_id());
    return row;
}

Result<void> visit_entries(Dump& dump,
                           const std::function<void(const records::DistributionEntry&)>& visit) {
    if (dump.trailer().distribution_offset().empty()) {
        return not_in_dump(dump, "other nodes");
    }
    for (const auto offset : dump.trailer().distribution_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::DistributionEntries>(
                                              offset, format::RecordKind::kDistributionEntries));
        for (const auto& entry : page.entry()) {
            visit(entry);
        }
    }
    return {};
}

}  // namespace

std::span<const Column> node_columns() {
    return kNodeColumns;
}

Result<RowList> list_nodes(Dump& dump, const RowQuery& query) {
    ASSIGN_OR_RETURN(auto list, RowList::make(kNodeColumns, query));
    ASSIGN_OR_RETURN(const auto known, KnownProcesses::read(dump));
    const auto add = [&](Row row) {
        row[Node::kName] = known.name_of(cell_text(row[Node::kController]));
        list.add(std::move(row));
    };
    RETURN_IF_ERROR(visit_entries(dump, [&](const auto& entry) { add(row_of(dump, entry)); }));
    RETURN_IF_ERROR(
        name_processes(dump, list, {.pid = Node::kController, .name = Node::kDisplayName}));
    return list;
}

Result<void> visit_connections(Dump& dump,
                               const std::function<void(const NodeConnection&)>& visit) {
    bool told = !dump.capture().has_cut_off();
    RETURN_IF_ERROR(visit_entries(dump, [&](const records::DistributionEntry& entry) {
        if (!entry.has_name_atom() || !entry.has_busy() || !entry.has_queued_bytes()) {
            // A crash dump tells which nodes are connected, and nothing of their queues.
            told = told && (entry.has_state() || !entry.has_visible());
            return;
        }
        visit({node_name(dump, entry.name_atom()), entry.busy(), entry.queued_bytes(),
               entry.has_suspended() ? std::optional(entry.suspended()) : std::nullopt});
    }));
    return told ? Result<void>()
                : fail(ErrorCode::kNotFound,
                       "the dump does not tell the queues of connections to other nodes");
}

}  // namespace beamdump::query
