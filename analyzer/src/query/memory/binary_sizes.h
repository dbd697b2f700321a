#pragma once

#include <libdump/base/budget.h>
#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace beamdump::query {

/// Reference-counted binaries of similar sizes.
struct BinarySizeClass {
    std::uint64_t from_bytes = 0;
    std::optional<std::uint64_t> below_bytes;  ///< nothing: any size
    std::uint64_t binaries = 0;
    std::uint64_t bytes = 0;  ///< their sum
};

/// The classes that have any, the smallest first: below 256 bytes, then each to four times its
/// beginning, the last from 64 MiB on. Reads the records of all binaries. Memory: see
/// visit_binaries().
Result<std::vector<BinarySizeClass>> binary_sizes(Dump& dump, const InputLimits& limits);

}  // namespace beamdump::query
