#pragma once

#include <libdump/write/dump_writer.h>
#include <libvm/beam/vm/steady_read.h>

namespace beamdump::capture {

/// Writes the table of other nodes; what could not be read is a warning in the trailer.
Result<void> write_distribution(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer,
                                const beam::Moving& moving);

}  // namespace beamdump::capture
