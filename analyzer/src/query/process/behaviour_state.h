#pragma once

#include "query/process/opened_process.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <optional>
#include <string>

namespace beamdump::query {

/// The state of a process of OTP's gen_server that waits in its loop, and where it is: what
/// sys:get_state/1 returns. nullopt for other processes, and for releases whose loop keeps its
/// registers in another order than those of OTP 25.2.3, 27.3.4 and 29.1.1.
struct BehaviourState {
    std::uint64_t word = 0;
    std::string place;  ///< "y(3) of frame 0"
};
Result<std::optional<BehaviourState>> behaviour_state(Dump& dump, OpenedProcess& process);

}  // namespace beamdump::query
