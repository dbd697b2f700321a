#pragma once

#include <libdump/write/dump_writer.h>
#include <libvm/beam/tables/atoms.h>
#include <libvm/beam/vm/steady_read.h>

namespace beamdump::capture {

/// Writes what says where the node's memory is: the Allocator, Carriers and SystemMemory records.
/// What could not be found or read is absent, and a warning in the trailer says so; it fails where
/// writing does. `atoms`: of all atoms. While the node is `moving`, lists that contradict
/// themselves are read again. `free_block_bytes`: to copy for free blocks, about.
Result<void> write_memory(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer,
                          const beam::AtomSpace& atoms, const beam::Moving& moving,
                          std::uint64_t free_block_bytes);

}  // namespace beamdump::capture
