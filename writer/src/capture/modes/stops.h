#pragma once

#include "capture/modes/process_retrier.h"

#include <chrono>

namespace beamdump::capture {

/// How often the node is stopped for that at most.
inline constexpr int kMaxStops = 40;

/// Captures what kept changing in stops of all threads, each as short as possible and none longer
/// than `longest`; takes out of `pending` what was captured and puts into `too_large` what takes
/// longer than `most` to copy. Left are processes that ran in each of them. False: the node could
/// not be stopped, which is said in a warning; it is not tried again.
Result<bool> capture_in_stops(Session& session, ProcessRetrier& retrier,
                              std::vector<Pending>& pending, std::vector<Pending>& too_large,
                              std::chrono::nanoseconds longest, std::chrono::nanoseconds most);

}  // namespace beamdump::capture
