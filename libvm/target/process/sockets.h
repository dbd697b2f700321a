#pragma once

#include <libdump/base/error.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

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

/// A descriptor that is a socket.
struct SocketDescriptor {
    std::uint64_t inode = 0;
    std::uint32_t descriptor = 0;
    auto operator<=>(const SocketDescriptor&) const = default;
};

/// A process's sockets, ordered. At most `most`: then `left_out` has how many more there are.
struct SocketDescriptors {
    std::vector<SocketDescriptor> sockets;
    std::uint64_t left_out = 0;
};

/// By /proc/PID/fd. Descriptors that are closed meanwhile are passed over. kTargetDied,
/// kPermission, kIo. Memory: 16 bytes for each socket.
Result<SocketDescriptors> socket_descriptors(pid_t pid, std::size_t most);

/// Calls `found` with each line of /proc/PID/net's tables, those of all sockets in the process's
/// network namespace. A table that the kernel does not have is passed over. Errors of `found`, kIo.
Result<void> each_socket_line(
    pid_t pid, const std::function<Result<void>(SocketTable, const SocketLine&)>& found);

}  // namespace beamdump::target
