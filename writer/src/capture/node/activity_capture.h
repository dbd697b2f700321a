#pragma once

#include <libdump/write/dump_writer.h>
#include <libvm/beam/activity/distribution.h>
#include <libvm/beam/activity/persistent_terms.h>
#include <libvm/beam/activity/ports.h>
#include <libvm/beam/activity/timers.h>
#include <libvm/beam/tables/modules.h>
#include <libvm/beam/vm/steady_read.h>
#include <libvm/beam/vm/vm.h>

#include <cstdint>
#include <set>
#include <span>
#include <string_view>

namespace beamdump::capture {

/// Writes the node's schedulers and run queues. Those that cannot be read are skipped, and the
/// trailer says so.
Result<void> write_schedulers(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer);

/// Writes the emulator's own state, with a first reading of thread progress, and the types of NIF
/// resources, whose addresses it gives. What could not be read is a sentence in the record.
/// `stopped`: the node is, so that no files are opened to name native functions.
Result<std::set<beam::Address>> write_emulator(beam::Vm& vm,
                                               std::span<const beam::ModuleCode> modules,
                                               bool stopped, DumpWriter& writer,
                                               records::Trailer& trailer);

/// Writes another reading of thread progress, of a node that ran since write_emulator(): only two
/// tell since when a scheduler makes none. Once for a capture; nothing after the first call.
Result<void> write_progress_again(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer);

/// Writes the node's timers. `moving`: it is running. Those that cannot be read are skipped, and
/// the trailer says so.
Result<void> write_timers(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer, bool moving);

/// Writes the table of other nodes; what could not be read is a warning in the trailer.
Result<void> write_distribution(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer,
                                const beam::Moving& moving);

// Each adds what the dump lacks to the trailer's warnings, without counts that are zero: nothing if
// nothing is missing.

/// While the node runs (`moving`), timers come and go between its counters and its lists, and those
/// that are missing are not told.
void warn_of_timers(const beam::TimerReader::Left& left, bool moving, records::Trailer& trailer);
void warn_of_connections(const beam::DistributionReader::Left& left, records::Trailer& trailer);
void warn_of_persistent_terms(const beam::PersistentTermReader::Counts& counts,
                              records::Trailer& trailer);
void warn_of_schedulers(std::uint64_t unreadable, std::string_view why, records::Trailer& trailer);
void warn_of_ports(const beam::PortReader::Left& left, records::Trailer& trailer);

}  // namespace beamdump::capture
