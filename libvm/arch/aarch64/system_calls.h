#pragma once

#include <cstdint>

namespace beamdump::arch::aarch64 {

/// See arch::waits_outside() and arch::is_restarted().
bool waits_outside(std::int64_t system_call);
bool is_restarted(std::int64_t system_call);

}  // namespace beamdump::arch::aarch64
