#pragma once

#include <libvm/beam/vm/vm.h>

#include <chrono>
#include <functional>
#include <thread>

namespace beamdump::beam {

/// Whether the node is running, so that its data may change while it is read.
using Moving = std::function<bool()>;

/// How often tables of a running node are read before they are considered inconsistent.
inline constexpr int kTableTries = 8;
inline constexpr std::chrono::milliseconds kBetweenTableTries{2};

/// Calls `read`, and retries if tables are inconsistent, since a running node may have changed
/// them. Returns the last call's result.
template <typename Read>
auto read_steadily(const Moving& moving, Vm& vm, const Read& read) -> decltype(read()) {
    for (int attempt = 1;; ++attempt) {
        auto done = read();
        const bool again = !done && attempt < kTableTries && moving() &&
                           (done.error().code == ErrorCode::kImplausible ||
                            done.error().code == ErrorCode::kUnmapped);
        if (!again) {
            return done;
        }
        std::this_thread::sleep_for(kBetweenTableTries);
        vm.forget();
    }
}

}  // namespace beamdump::beam
