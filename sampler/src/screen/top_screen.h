#pragma once

#include "top/top_view.h"

#include <atomic>
#include <chrono>

namespace beamdump::sampler {

/// Shows a node on the terminal until the user quits or `cancelled`. The terminal is restored at
/// its end, at an error too. Errors as TopReader::refresh(), and Terminal::open()'s.
Result<void> top_screen(ObservedNode& node, TopOptions options, std::chrono::milliseconds interval,
                        const std::atomic<bool>& cancelled);

}  // namespace beamdump::sampler
