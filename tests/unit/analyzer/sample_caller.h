#pragma once

#include "sample_process.h"

namespace beamdump::test {

/// A process in a call of another: a monitor with the reference 1, 2, `number`, which is in y(0).
inline SampleProcess caller(std::uint64_t number, std::uint64_t called) {
    SampleProcess process;
    process.number = number;
    const std::uint64_t heap = heap_of(number);
    // An ordinary reference (erl_term.h, OTP 25): its header, and three numbers of 32 bits behind
    // a marker.
    constexpr std::uint64_t kReferenceHeader = 2U << 6U | 4U << 2U;
    process.heap = {kReferenceHeader, (number << 32U) | 0xFFFF'FFFFU, 2U | (1UL << 32U)};
    process.stack = {boxed_word(heap), kNormalExit};
    records::Monitor monitor;
    monitor.set_kind(records::MONITOR_KIND_PROCESS);
    monitor.set_other_word(pid_word(called));
    for (const std::uint32_t part : {static_cast<std::uint32_t>(number), 2U, 1U}) {
        monitor.add_reference(part);
    }
    process.monitors = {monitor};
    return process;
}

}  // namespace beamdump::test
