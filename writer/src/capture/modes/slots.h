#pragma once

#include "capture/session.h"

#include <functional>
#include <span>

namespace beamdump::capture {

/// Hands over the used slots of the process table in batches: in the table's order, or, where the
/// output's size is limited, the smallest processes first, so that the largest are what is cut.
/// Reports progress before each batch. Memory: with a limit 24 bytes a process.
Result<void> for_each_batch(
    Session& session, const std::function<Result<void>(std::span<const beam::IdSlot>)>& visit);

}  // namespace beamdump::capture
