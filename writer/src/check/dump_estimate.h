#pragma once

#include <libvm/target/target.h>

#include <cstdint>

namespace beamdump::check {

/// An upper estimate of a dump's size, in bytes: a dump of all resident memory, although unused
/// parts of carriers and some tables are not written.
struct DumpEstimate {
    std::uint64_t resident_bytes = 0;
    std::uint64_t sampled_bytes = 0;
    std::uint64_t compressed_bytes = 0;  ///< of those
    std::uint64_t dump_bytes = 0;
};

/// Compresses a sample of the target's anonymous memory, at most 16 MiB of its resident pages, with
/// a capture's settings.
Result<DumpEstimate> estimate_dump(target::Target& target, int level);

}  // namespace beamdump::check
