#include "calls/breakpoint_cost.h"

#include <libdump/base/return_if_error.h>
#include <libsample/events/thread_event.h>

#include <algorithm>
#include <limits>
#include <unistd.h>

namespace beamdump::sampler {
namespace {

constexpr int kCalls = 200;
constexpr int kRounds = 5;
constexpr std::uint64_t kNoSamples = std::uint64_t{1} << 40U;

/// Is called, and does nothing that could be left out.
[[gnu::noinline]] void counted_call() {
    asm volatile("");
}

}  // namespace

Result<std::chrono::nanoseconds> breakpoint_cost() {
    ASSIGN_OR_RETURN(auto event,
                     ThreadEvent::open(
                         ::gettid(), {.period = kNoSamples,
                                      .breakpoint = reinterpret_cast<std::uintptr_t>(&counted_call),
                                      .off = true,
                                      .wakes = false,
                                      .stack_bytes = 8,
                                      .ring_pages = 1}));
    // The least of a few rounds: others may have been interrupted.
    auto least = std::chrono::nanoseconds::max();
    RETURN_IF_ERROR(event.switch_on());
    for (int round = 0; round < kRounds; ++round) {
        const auto began = std::chrono::steady_clock::now();
        for (int call = 0; call < kCalls; ++call) {
            counted_call();
        }
        least = std::min<std::chrono::nanoseconds>(least, std::chrono::steady_clock::now() - began);
    }
    RETURN_IF_ERROR(event.switch_off());
    return least / kCalls;
}

}  // namespace beamdump::sampler
