#pragma once

#include <cstdint>
#include <ctime>

namespace beamdump::target {

/// Nanoseconds on one of the system's clocks.
inline std::int64_t clock_ns(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace beamdump::target
