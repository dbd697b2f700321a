#pragma once

#include <libdump/write/dump_writer.h>
#include <libvm/target/process/sockets.h>

namespace beamdump::capture {

/// Writes the sockets that a process has open, in pages, as the kernel tells of them now. `before`:
/// those of before its memory was read; a descriptor with the same inode then is the same socket,
/// so that a port that names it is of that socket. What cannot be read is a warning. Memory: 16
/// bytes for each socket, and a page.
Result<void> write_sockets(pid_t pid, const Result<target::SocketDescriptors>& before,
                           DumpWriter& writer, records::Trailer& trailer);

/// Sockets that are kept. Those above are counted in a warning.
inline constexpr std::size_t kMostSockets = std::size_t{1} << 18U;

}  // namespace beamdump::capture
