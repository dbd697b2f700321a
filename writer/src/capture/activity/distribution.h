#pragma once

#include "beam/vm/steady_read.h"

#include <libdump/write/dump_writer.h>

namespace beamdump::capture {

/// Writes the table of other nodes; what could not be read is a warning in the trailer.
Result<void> write_distribution(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer,
                                const beam::Moving& moving);

}  // namespace beamdump::capture
