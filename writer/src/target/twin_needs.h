#pragma once

#include "target/head_room.h"
#include "target/twin.h"

#include <string_view>

namespace beamdump::target {

/// What a twin of a process may cost.
struct TwinNeeds {
    std::uint64_t page_table_bytes = 0;
    std::uint64_t copied_bytes = 0;
    std::uint64_t promised_bytes = 0;  ///< counts where memory is never overcommitted
    [[nodiscard]] std::uint64_t memory_bytes() const { return page_table_bytes + copied_bytes; }
};

/// From /proc/PID/status: VmPTE, VmRSS, VmData. kImplausible: they are not there.
Result<TwinNeeds> twin_needs(std::string_view status, const TwinLimits& limits);

/// kLimit: `node` or `own` leave less than that. `own` is what this process is limited by.
Result<void> check_needs(const TwinNeeds& needs, const HeadRoom& node, const HeadRoom& own,
                         std::uint64_t own_bytes);

}  // namespace beamdump::target
