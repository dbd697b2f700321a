#include "query/activity/sockets.h"

#include "query/process/known_processes.h"
#include "query/process/process_line.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/owner_id.h>

#include <array>
#include <unordered_map>

namespace beamdump::query {
namespace {

enum SocketPlace : std::uint8_t {
    kSocketFd,
    kSocketProtocol,
    kSocketState,
    kSocketLocal,
    kSocketRemote,
    kSocketReceive,
    kSocketSend,
    kSocketWaiting,
    kSocketPort,
    kSocketConnected,
    kSocketOwner,
    kSocketOwnerDisplayName,
    kSocketOwnerApplication,
    kSocketInode,
    kSocketPlaces
};

constexpr std::array<Column, kSocketPlaces> kSocketColumns = {
    {{.name = "fd", .title = "FD", .kind = ColumnKind::kId, .sentence = "The file descriptor"},
     {.name = "protocol",
      .title = "PROTOCOL",
      .sentence = "Absent where the kernel's tables of these do not have the socket: it is of "
                  "another protocol, or was closed meanwhile",
      .one_of = "tcp tcp6 udp udp6 raw raw6 unix"},
     {.name = "state",
      .title = "STATE",
      .sentence = "TCP: the kernel's names. UDP, raw: CONNECTED, UNCONNECTED. Unix: LISTEN, "
                  "UNCONNECTED, CONNECTING, CONNECTED, DISCONNECTING"},
     {.name = "local",
      .title = "LOCAL",
      .shrinks = true,
      .sentence = "ADDRESS:PORT, or the path of a Unix socket; @ begins an abstract name"},
     {.name = "remote", .title = "REMOTE", .shrinks = true, .sentence = "ADDRESS:PORT"},
     {.name = "receive_queue",
      .title = "RECEIVE",
      .kind = ColumnKind::kBytesIfAny,
      .sentence = "Bytes that the node has not read yet"},
     {.name = "send_queue",
      .title = "SEND",
      .kind = ColumnKind::kBytesIfAny,
      .sentence = "Bytes that the other side has not acknowledged yet; absent for Unix sockets"},
     {.name = "waiting",
      .title = "WAITING",
      .kind = ColumnKind::kCountIfAny,
      .sentence = "TCP, LISTEN: connections that wait to be accepted"},
     {.name = "port",
      .title = "PORT",
      .sentence = "#Port<0.N>. Absent where no port of inet_drv has the socket (module socket, "
                  "NIFs), and where it was opened during the capture"},
     {.name = "connected",
      .title = "CONNECTED",
      .sentence = "The pid that the port is connected to"},
     {.name = "owner", .sentence = "The registered name of that process"},
     {.name = "owner_display_name",
      .title = "OWNER",
      .shrinks = true,
      .derived = true,
      .sentence =
          "What tables call that process: its registered name, else its label, else RabbitMQ's "
          "process_name, else its initial call; aliases of an Elixir node as Elixir writes them"},
     {.name = "owner_application", .derived = true, .sentence = kApplicationSentence},
     {.name = "inode", .kind = ColumnKind::kId, .sentence = "The socket's number in the kernel"}}};

/// A port of inet_drv, as texts.
struct SocketPort {
    std::string port;
    std::string connected;  ///< empty: none
};

using SocketPorts = std::unordered_map<std::uint32_t, SocketPort>;  // by file descriptor

Result<SocketPorts> ports_with_sockets(Dump& dump) {
    SocketPorts ports;
    for (const auto offset : dump.trailer().ports_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::Ports>(
                                              offset, format::RecordKind::kPorts));
        for (const auto& port : page.port()) {
            if (port.has_file_descriptor()) {
                ports[port.file_descriptor()] = {
                    port_text(port.number()),
                    port.has_connected_owner_id() ? pid_text(port.connected_owner_id()) : ""};
            }
        }
    }
    return ports;
}

Row row_of(const records::Socket& socket) {
    Row row(kSocketPlaces);
    set_if(row, kSocketFd, socket.has_file_descriptor(), socket.file_descriptor());
    set_if(row, kSocketProtocol, socket.has_protocol(), socket.protocol());
    set_if(row, kSocketState, socket.has_state(), socket.state());
    set_if(row, kSocketLocal, socket.has_local(), socket.local());
    set_if(row, kSocketRemote, socket.has_remote(), socket.remote());
    set_if(row, kSocketReceive, socket.has_receive_queue_bytes(), socket.receive_queue_bytes());
    set_if(row, kSocketSend, socket.has_send_queue_bytes(), socket.send_queue_bytes());
    set_if(row, kSocketWaiting, socket.has_waiting(), socket.waiting());
    set_if(row, kSocketInode, socket.has_inode(), socket.inode());
    return row;
}

}  // namespace

std::span<const Column> socket_columns() {
    return kSocketColumns;
}

Result<RowList> list_sockets(Dump& dump, const RowQuery& query) {
    ASSIGN_OR_RETURN(auto list, RowList::make(kSocketColumns, query));
    if (dump.trailer().sockets_offset().empty()) {
        return fail(ErrorCode::kNotFound,
                    "the dump has no sockets: it is of a core or a crash dump, was captured by an "
                    "older version, or they could not be read (the warnings of summary tell)");
    }
    ASSIGN_OR_RETURN(const auto known, KnownProcesses::read(dump));
    ASSIGN_OR_RETURN(const auto ports, ports_with_sockets(dump));
    for (const auto offset : dump.trailer().sockets_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::Sockets>(
                                              offset, format::RecordKind::kSockets));
        for (const auto& socket : page.socket()) {
            Row row = row_of(socket);
            const auto port = ports.find(socket.file_descriptor());
            if (socket.open_before() && port != ports.end()) {
                row[kSocketPort] = port->second.port;
                if (!port->second.connected.empty()) {
                    row[kSocketConnected] = port->second.connected;
                }
                row[kSocketOwner] = known.name_of(port->second.connected);
            }
            list.add(std::move(row));
        }
    }
    RETURN_IF_ERROR(name_processes(dump, list,
                                   {.pid = kSocketConnected,
                                    .name = kSocketOwnerDisplayName,
                                    .application = kSocketOwnerApplication}));
    return list;
}

}  // namespace beamdump::query
