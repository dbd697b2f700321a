#pragma once

#include <libdump/base/error.h>
#include <libvm/target/process/socket_line.h>

#include <functional>
#include <sys/types.h>
#include <vector>

namespace beamdump::target {

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
