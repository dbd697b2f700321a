#pragma once

#include <libdump/base/error.h>

#include <chrono>

namespace beamdump::sampler {

/// The time that a thread of this machine takes for a call that is counted by a breakpoint:
/// measured on a function of this program. Errors as ThreadEvent::open().
Result<std::chrono::nanoseconds> breakpoint_cost();

}  // namespace beamdump::sampler
