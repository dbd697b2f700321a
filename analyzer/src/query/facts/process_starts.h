#pragma once

#include <libdump/model/dump.h>

#include <cstdint>
#include <optional>

namespace beamdump::query {

/// How many processes were started, and in which time.
struct ProcessStarts {
    std::uint64_t count = 0;
    double seconds = 0;
    bool at_least = false;  ///< the node's count may have begun anew in that time
    [[nodiscard]] double per_second() const { return static_cast<double>(count) / seconds; }
};

/// While the node was captured, in the time that it ran; nullopt where the dump does not tell.
std::optional<ProcessStarts> process_starts(const Dump& dump);

/// Between the begin of the captures of one run of a node; nullopt where a dump does not tell, or
/// the second one is not the later one.
std::optional<ProcessStarts> process_starts_between(const Dump& first, const Dump& second);

}  // namespace beamdump::query
