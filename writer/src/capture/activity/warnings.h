#pragma once

#include <libvm/beam/activity/distribution.h>
#include <libvm/beam/activity/persistent_terms.h>
#include <libvm/beam/activity/timers.h>

#include <cstdint>
#include <string_view>

namespace beamdump::capture {

// Each adds what the dump lacks to the trailer's warnings, without counts that are zero: nothing if
// nothing is missing.

/// While the node runs (`moving`), timers come and go between its counters and its lists, and those
/// that are missing are not told.
void warn_of_timers(const beam::TimerReader::Left& left, bool moving, records::Trailer& trailer);
void warn_of_connections(const beam::DistributionReader::Left& left, records::Trailer& trailer);
void warn_of_persistent_terms(const beam::PersistentTermReader::Counts& counts,
                              records::Trailer& trailer);
void warn_of_schedulers(std::uint64_t unreadable, std::string_view why, records::Trailer& trailer);
void warn_of_ports(std::uint64_t unreadable, records::Trailer& trailer);

}  // namespace beamdump::capture
