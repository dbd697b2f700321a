#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::target {

/// The tables of sockets in /proc/PID/net that are read.
enum class SocketTable : std::uint8_t { kTcp, kTcp6, kUdp, kUdp6, kRaw, kRaw6, kUnix };

/// The file's name in /proc/PID/net, which is the protocol's, too.
std::string_view name_of(SocketTable table);

/// A line of such a table. Addresses are as text: 127.0.0.1:80, [::1]:80, a path, @ and an abstract
/// name.
struct SocketLine {
    std::uint64_t inode = 0;
    std::string_view state;                      ///< as the kernel's name: LISTEN; empty: unknown
    std::string local;                           ///< empty: none
    std::string remote;                          ///< empty: none
    std::optional<std::uint64_t> receive_bytes;  ///< that were not read yet
    std::optional<std::uint64_t> send_bytes;     ///< that were not acknowledged yet
    std::optional<std::uint64_t> waiting;        ///< connections that wait to be accepted
};

/// Parses a line (Linux' net/ipv4/tcp_ipv4.c, get_tcp4_sock() and its like; net/unix/af_unix.c,
/// unix_seq_show()). Nothing for the head, and for a line that is not as there.
std::optional<SocketLine> parse_socket_line(SocketTable table, std::string_view line);

}  // namespace beamdump::target
