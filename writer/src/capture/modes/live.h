#pragma once

#include "capture/modes/process_retrier.h"

namespace beamdump::capture {

/// Tries every process of the running node once; hands back those that kept changing.
Result<std::vector<Pending>> capture_live(Session& session, ProcessRetrier& retrier);

/// Tries them again, `rounds` times at most, each time after twice as long; takes out those that
/// were captured.
Result<void> try_again(Session& session, ProcessRetrier& retrier, std::vector<Pending>& pending,
                       int rounds);

}  // namespace beamdump::capture
