#pragma once

#include "capture/session.h"

namespace beamdump::capture {

/// Tries every process once, of a node that does not move: its threads are stopped, or it is a twin
/// or a core. `watch` (may be null) says that it moves after all. Those that cannot be copied are
/// listed as void with `last`, else handed back.
Result<std::vector<beam::IdSlot>> capture_at_rest(
    Session& session, bool last, const std::function<Result<records::VoidReason>()>* watch);

}  // namespace beamdump::capture
