#pragma once

#include <records.pb.h>

#include <cstdint>

namespace beamdump {

/// Removes from a trailer what names a page a second time, or no page. No writer does that; in a
/// forged dump it would make reading take as long as the trailer says, whatever the size of the
/// file. Gives how many it removes: what else they may say (which atoms, which columns) is lost,
/// and to be told.
std::uint64_t keep_distinct_pages(records::Trailer& trailer);

}  // namespace beamdump
