#include "query/activity/sockets.h"

#include "query/activity/known_processes.h"
#include "query/node/process_line.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/owner_id.h>

#include <fmt/format.h>

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
    kSocketInode,
    kSocketPlaces
};

constexpr std::array<Column, kSocketPlaces> kSocketColumns = {
    {{"fd", "FD", ColumnKind::kId},
     {"protocol", "PROTOCOL"},
     {"state", "STATE"},
     {"local", "LOCAL", ColumnKind::kText, true},
     {"remote", "REMOTE", ColumnKind::kText, true},
     {"receive_queue", "RECEIVE", ColumnKind::kBytesIfAny},
     {"send_queue", "SEND", ColumnKind::kBytesIfAny},
     {"waiting", "WAITING", ColumnKind::kCountIfAny},
     {"port", "PORT"},
     {"connected", "CONNECTED"},
     {"owner", ""},
     {"owner_display_name", "OWNER", ColumnKind::kText, true, true},
     {"inode", "", ColumnKind::kId}}};

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
                    fmt::format("#Port<0.{}>", port.number()),
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

Result<RowList> list_sockets(Dump& dump, const std::string& /*file*/, const RowQuery& query) {
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
    RETURN_IF_ERROR(name_processes(dump, list, kSocketConnected, kSocketOwnerDisplayName));
    return list;
}

}  // namespace beamdump::query
