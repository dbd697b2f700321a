#pragma once

#include <libdump/base/error.h>
#include <libvm/beam/vm/steady_read.h>

#include <fmt/format.h>

#include <utility>

namespace beamdump::beam {

/// Calls `read` until two calls in a row give equal values, so that a running node has not changed
/// them in between. kTargetDied at once; kImplausible: they changed between each of kTableTries
/// calls; else the last call's error.
template <typename Read>
auto read_until_equal(const Read& read) -> decltype(read()) {
    auto last = read();
    for (int tries = 1; tries < kTableTries; ++tries) {
        if (!last && last.error().code == ErrorCode::kTargetDied) {
            return last;
        }
        auto next = read();
        if (last && next && *last == *next) {
            return next;
        }
        last = std::move(next);
    }
    return last ? fail(ErrorCode::kImplausible,
                       fmt::format("it changed between each of {} reads", kTableTries))
                : std::move(last);
}

}  // namespace beamdump::beam
