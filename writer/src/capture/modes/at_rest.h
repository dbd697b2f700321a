#pragma once

#include "capture/session/session.h"

#include <cstdint>

namespace beamdump::capture {

/// What is done with processes that cannot be copied.
enum class LeftOver : std::uint8_t {
    kListed,            ///< as void
    kReturned,          ///< to the caller
    kLargeAreReturned,  ///< large ones (Session::is_large()) to the caller; the others are listed
};

/// Tries every process once, of a node that does not move: its threads are stopped, or it is a twin
/// or a core. `watch` (may be null) says that it moves after all. Returns what is left over.
Result<std::vector<beam::IdSlot>> capture_at_rest(
    Session& session, LeftOver left_over,
    const std::function<Result<records::VoidReason>()>* watch);

}  // namespace beamdump::capture
