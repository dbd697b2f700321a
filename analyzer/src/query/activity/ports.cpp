#include "query/activity/ports.h"

#include "query/facts/dump_facts.h"
#include "query/process/known_processes.h"
#include "query/process/process_line.h"
#include "query/rows/cells.h"

#include <libdump/base/decimal.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/node_scheme.h>
#include <libdump/model/owner_id.h>

#include <array>

namespace beamdump::query {

namespace {

enum PortPlace : std::uint8_t {
    kPort,
    kName,
    kDriver,
    kConnected,
    kOwner,
    kOwnerDisplayName,
    kOwnerInitialCall,
    kOwnerApplication,
    kRegisteredName,
    kInput,
    kOutput,
    kQueue,
    kQueuedBinaries,
    kQueuedBinaryBytes,
    kOsPid,
    kBusy,
    kWaiting,
    kWaitingProcesses,
    kDistribution,
    kClosing,
    kOrphaned,
    kPlaces
};

constexpr std::array<Column, kPlaces> kPortColumns = {
    {{.name = "port", .title = "PORT", .sentence = "#Port<0.N>"},
     {.name = "name",
      .title = "NAME",
      .shrinks = true,
      .sentence = "Its driver's, or the command line of a program"},
     {.name = "driver", .title = "DRIVER", .sentence = "Absent in crash dumps"},
     {.name = "connected", .title = "CONNECTED", .sentence = "A pid"},
     {.name = "owner", .sentence = "The registered name of that process"},
     {.name = "owner_display_name",
      .title = "OWNER",
      .shrinks = true,
      .derived = true,
      .sentence =
          "What tables call that process: its registered name, else its label, else RabbitMQ's "
          "process_name, else its initial call; aliases of an Elixir node as Elixir writes them"},
     {.name = "owner_initial_call",
      .derived = true,
      .sentence = "That process's, by proc_lib where it tells"},
     {.name = "owner_application", .derived = true, .sentence = kApplicationSentence},
     {.name = "registered_name"},
     {.name = "input",
      .title = "INPUT",
      .kind = ColumnKind::kBytes,
      .sentence = "Bytes that processes received from it"},
     {.name = "output",
      .title = "OUTPUT",
      .kind = ColumnKind::kBytes,
      .sentence = "Bytes that processes sent to it"},
     {.name = "queue",
      .title = "QUEUE",
      .kind = ColumnKind::kBytes,
      .sentence = "Bytes in its driver's queue"},
     {.name = "queued_binaries",
      .kind = ColumnKind::kCountIfAny,
      .sentence = "Binaries that these bytes are in, each once"},
     {.name = "queued_binary_bytes",
      .kind = ColumnKind::kBytesIfAny,
      .sentence = "Their size in full: what the queue keeps from being freed"},
     {.name = "os_pid",
      .title = "OS PID",
      .kind = ColumnKind::kId,
      .sentence = "The program that it controls; absent in crash dumps"},
     {.name = "busy",
      .title = "BUSY",
      .kind = ColumnKind::kFlag,
      .sentence = "Processes that send to it are suspended"},
     {.name = "suspended",
      .kind = ColumnKind::kCount,
      .sentence = "Processes that are suspended until it is not busy; absent in crash dumps"},
     {.name = "suspended_processes",
      .sentence = "The first 100 of these, in the order in which they came: pids, separated by "
                  "spaces; absent if there are none"},
     {.name = "distribution",
      .kind = ColumnKind::kFlag,
      .sentence = "It carries a connection to another node"},
     {.name = "closing", .kind = ColumnKind::kFlag},
     {.name = "orphaned",
      .kind = ColumnKind::kFlag,
      .sentence = "No process has the pid of connected; absent where the dump cannot tell"}}};

Row row_of(Dump& dump, const records::Port& port) {
    Row row(kPlaces);
    set_if(row, kPort, port.has_number(), port_text(port.number()));
    set_if(row, kName, port.has_name(), port.name());
    set_if(row, kDriver, port.has_driver(), port.driver());
    set_if(row, kConnected, port.has_connected_owner_id(), pid_text(port.connected_owner_id()));
    if (port.has_registered_name_atom()) {
        row[kRegisteredName] = atom_text(dump, port.registered_name_atom());
    }
    set_if(row, kInput, port.has_input_bytes(), port.input_bytes());
    set_if(row, kOutput, port.has_output_bytes(), port.output_bytes());
    set_if(row, kQueue, port.has_queued_bytes(), port.queued_bytes());
    set_if(row, kQueuedBinaries, port.has_queued_binaries(), port.queued_binaries());
    set_if(row, kQueuedBinaryBytes, port.has_queued_binary_bytes(), port.queued_binary_bytes());
    set_if(row, kOsPid, port.has_os_pid(), static_cast<std::uint64_t>(port.os_pid()));
    set_if(row, kBusy, port.has_busy(), port.busy());
    set_if(row, kWaiting, port.has_suspended(), port.suspended());
    if (const auto& pids = port.suspended_owner_id(); !pids.empty()) {
        row[kWaitingProcesses] = pids_text({pids.data(), static_cast<std::size_t>(pids.size())});
    }
    set_if(row, kDistribution, port.has_distribution(), port.distribution());
    set_if(row, kClosing, port.has_closing(), port.closing());
    return row;
}

}  // namespace

std::span<const Column> port_columns() {
    return kPortColumns;
}

namespace {

Result<void> visit_rows(Dump& dump, const std::function<void(Row)>& visit) {
    ASSIGN_OR_RETURN(const auto known, KnownProcesses::read(dump));
    const auto add = [&](Row row) {
        const auto connected = cell_text(row[kConnected]);
        row[kOwner] = known.name_of(connected);
        row[kOrphaned] = cell(known.is_missing(std::string_view(connected)));
        visit(std::move(row));
    };
    if (dump.trailer().ports_offset().empty()) {
        return not_in_dump(dump, "ports");
    }
    for (const auto offset : dump.trailer().ports_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::Ports>(
                                              offset, format::RecordKind::kPorts));
        for (const auto& port : page.port()) {
            add(row_of(dump, port));
        }
    }
    return {};
}

}  // namespace

Result<RowList> list_ports(Dump& dump, const RowQuery& query) {
    ASSIGN_OR_RETURN(auto list, RowList::make(kPortColumns, query));
    RETURN_IF_ERROR(visit_rows(dump, [&](Row row) { list.add(std::move(row)); }));
    RETURN_IF_ERROR(name_processes(dump, list,
                                   {.pid = kConnected,
                                    .name = kOwnerDisplayName,
                                    .initial_call = kOwnerInitialCall,
                                    .application = kOwnerApplication}));
    return list;
}

Result<void> visit_ports(Dump& dump, const std::function<void(const PortState&)>& visit) {
    return visit_rows(dump, [&](const Row& row) {
        const auto flag = [&row](PortPlace place) {
            const auto* const set = std::get_if<bool>(&row[place]);
            return set == nullptr ? std::nullopt : std::optional(*set);
        };
        const auto count = [&row](PortPlace place) {
            const auto* const set = std::get_if<std::uint64_t>(&row[place]);
            return set == nullptr ? std::nullopt : std::optional(*set);
        };
        visit({.port = cell_text(row[kPort]),
               .name = cell_text(row[kName]),
               .connected = cell_text(row[kConnected]),
               .queued_bytes = count(kQueue).value_or(0),
               .suspended = count(kWaiting),
               .busy = flag(kBusy).value_or(false),
               .closing = flag(kClosing).value_or(false),
               .distribution = flag(kDistribution).value_or(false),
               .orphaned = flag(kOrphaned)});
    });
}

}  // namespace beamdump::query
