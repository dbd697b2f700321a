#pragma once

#include <libvm/target/process/head_room.h>
#include <libvm/target/twin/twin.h>

#include <chrono>
#include <cstdint>
#include <string_view>
#include <sys/types.h>

namespace beamdump::target {

/// TwinNeeds::least_fork of a process that has so much resident.
std::chrono::nanoseconds least_fork(std::uint64_t resident_bytes);

/// VmRSS of /proc/PID/status, in bytes. kImplausible: it is not there. Errors as
/// ProcDirectory::read().
Result<std::uint64_t> resident_bytes(pid_t node);

/// From /proc/PID/status: VmPTE, VmRSS, VmData. kImplausible: they are not there.
Result<TwinNeeds> twin_needs(std::string_view status, const TwinLimits& limits);

/// kLimit: `node` or `own` leave less than that. `own` is what this process is limited by.
Result<void> check_needs(const TwinNeeds& needs, const HeadRoom& node, const HeadRoom& own,
                         std::uint64_t own_bytes);

}  // namespace beamdump::target
