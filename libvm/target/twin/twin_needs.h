#pragma once

#include <libvm/target/process/head_room.h>
#include <libvm/target/twin/twin.h>

#include <string_view>

namespace beamdump::target {

/// From /proc/PID/status: VmPTE, VmRSS, VmData. kImplausible: they are not there.
Result<TwinNeeds> twin_needs(std::string_view status, const TwinLimits& limits);

/// kLimit: `node` or `own` leave less than that. `own` is what this process is limited by.
Result<void> check_needs(const TwinNeeds& needs, const HeadRoom& node, const HeadRoom& own,
                         std::uint64_t own_bytes);

}  // namespace beamdump::target
