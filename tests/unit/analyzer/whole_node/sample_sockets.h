#pragma once

#include "support/dump_builder.h"

namespace beamdump::test {

/// One of the port, one that has its descriptor but was opened later, one that listens.
inline void add_sockets(DumpBuilder& builder) {
    records::Sockets sockets;
    auto& connection = *sockets.add_socket();
    connection.set_file_descriptor(21);
    connection.set_inode(1001);
    connection.set_protocol("tcp");
    connection.set_state("CLOSE_WAIT");
    connection.set_local("10.0.0.1:5672");
    connection.set_remote("10.0.0.9:40000");
    connection.set_receive_queue_bytes(70'000);
    connection.set_send_queue_bytes(0);
    connection.set_open_before(true);
    auto& later = *sockets.add_socket();
    later.set_file_descriptor(21);
    later.set_inode(1002);
    later.set_open_before(false);
    auto& listens = *sockets.add_socket();
    listens.set_file_descriptor(22);
    listens.set_inode(1003);
    listens.set_protocol("tcp6");
    listens.set_state("LISTEN");
    listens.set_local("[::]:4369");
    listens.set_waiting(5);
    listens.set_open_before(true);
    builder.trailer().add_sockets_offset(builder.append(format::RecordKind::kSockets, sockets));
}

}  // namespace beamdump::test
