#pragma once

#include <libdump/write/dump_writer.h>
#include <libvm/beam/vm/vm.h>

namespace beamdump::capture {

/// Writes the node's schedulers and run queues. Those that cannot be read are skipped, and the
/// trailer says so.
Result<void> write_schedulers(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer);

}  // namespace beamdump::capture
