#pragma once

#include <records.pb.h>

namespace beamdump {

/// Removes from a trailer what names a page a second time, or no page. No writer does that; in a
/// forged dump it would make reading take as long as the trailer says, whatever the size of the
/// file.
void keep_distinct_pages(records::Trailer& trailer);

}  // namespace beamdump
