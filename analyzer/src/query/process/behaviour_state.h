#pragma once

#include "query/process/opened_process.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <optional>

namespace beamdump::query {

/// The state of a process of OTP's gen_server that waits in its loop (from OTP 28 on also of one
/// that hibernates), and where it is: what sys:get_state/1 returns. nullopt for other processes,
/// and where the registers are not as those of R16 to OTP 29.1.1.
struct BehaviourState {
    std::uint64_t word = 0;
    std::uint64_t y = 0;  ///< the y register that holds it
    /// The frame of that register: 0, or 1 up to OTP 23, whose crash dumps print a function's
    /// registers below the return address of its caller.
    std::uint64_t frame = 0;
};
Result<std::optional<BehaviourState>> behaviour_state(Dump& dump, OpenedProcess& process);

}  // namespace beamdump::query
