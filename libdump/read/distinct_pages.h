#pragma once

#include <records.pb.h>

#include <cstdint>

namespace beamdump {

/// Removes entries of a trailer that name a page twice or none, which no writer makes: in a forged
/// dump they would make reading take arbitrarily long. Returns how many it removed; their other
/// contents (which atoms, which columns) are lost, which must be reported.
std::uint64_t keep_distinct_pages(records::Trailer& trailer);

}  // namespace beamdump
