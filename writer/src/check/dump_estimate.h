#pragma once

#include "target/target.h"

#include <cstdint>

namespace beamdump::check {

/// How large a dump of all that is resident would be, in bytes: from above, for carriers' unused
/// parts and tables are not written.
struct DumpEstimate {
    std::uint64_t resident_bytes = 0;
    std::uint64_t sampled_bytes = 0;
    std::uint64_t compressed_bytes = 0;  ///< of those
    std::uint64_t dump_bytes = 0;
};

/// Compresses a sample of the target's anonymous memory, at most 16 MiB of its present pages, as a
/// capture would.
Result<DumpEstimate> estimate_dump(target::Target& target, int level);

}  // namespace beamdump::check
