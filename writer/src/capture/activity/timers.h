#pragma once

#include <libdump/write/dump_writer.h>
#include <libvm/beam/vm/vm.h>

namespace beamdump::capture {

/// Writes the node's timers. `moving`: it is running. Those that cannot be read are skipped, and
/// the trailer says so.
Result<void> write_timers(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer, bool moving);

}  // namespace beamdump::capture
