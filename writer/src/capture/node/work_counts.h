#pragma once

#include <libvm/beam/vm/vm.h>

#include <records.pb.h>

#include <chrono>
#include <cstdint>
#include <optional>

namespace beamdump::capture {

/// What a node has done until a moment. A count that cannot be read is absent.
struct WorkCounts {
    std::int64_t monotonic_ns = 0;              ///< the moment
    std::optional<std::uint32_t> processes;     ///< that were started, modulo 2^32
    std::optional<std::uint64_t> reductions;    ///< of all processes, those that have ended too
    std::optional<std::uint64_t> processor_ns;  ///< of all threads of the process
};

/// What it has done until now, read anew.
WorkCounts work_counts(beam::Vm& vm);

/// What it did between two moments; nullopt where it was `stopped` for the whole time.
std::optional<records::Meanwhile> work_between(const WorkCounts& begin, const WorkCounts& end,
                                               std::chrono::nanoseconds stopped);

}  // namespace beamdump::capture
