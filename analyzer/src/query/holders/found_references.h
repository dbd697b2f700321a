#pragma once

#include "query/holders/node_sweep.h"
#include "query/process/every_process.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

namespace beamdump::query {

/// How many references the dump has to each reference-counted binary, magic ones too.
struct FoundReferences {
    std::unordered_map<std::uint64_t, std::uint64_t> by_binary;  ///< by the structure's address
    /// Why there may be more: a part of the node that is not in the dump, in words. Nothing: there
    /// are none that processes, tables, messages, literals or persistent terms have.
    std::optional<std::string> lacks;
};

/// Reads the off-heap lists of all processes, and all terms of rows, literals and persistent terms.
/// Memory: 48 bytes for each binary that is referred to: kLimit where that is more than the limit.
Result<FoundReferences> found_references(Dump& dump, const InputLimits& limits,
                                         const ReadProgress& progress);

}  // namespace beamdump::query
