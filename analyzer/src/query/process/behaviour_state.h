#pragma once

#include "query/process/opened_process.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <optional>

namespace beamdump::query {

/// The state of a process of OTP's gen_server that waits in its loop (from OTP 28 on also of one
/// that hibernates), and where it is: what sys:get_state/1 returns. nullopt for other processes,
/// and for releases whose loop keeps its registers in another order than those of
/// OTP 25.2.3, 27.3.4 and 29.1.1.
struct BehaviourState {
    std::uint64_t word = 0;
    std::uint64_t y = 0;  ///< the y register of frame 0 that holds it
};
Result<std::optional<BehaviourState>> behaviour_state(Dump& dump, OpenedProcess& process);

}  // namespace beamdump::query
