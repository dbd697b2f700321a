#pragma once

#include "query/process/every_process.h"
#include "query/rows/row_list.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace beamdump::query {

/// The columns of reference-counted binaries.
std::span<const Column> node_binary_columns();
inline constexpr std::string_view kNodeBinarySort = "size,address";

struct NodeBinaries {
    RowList list;
    std::uint64_t total_bytes = 0;
    /// There may be more: a crash dump that breaks off before or among their sections.
    bool may_lack_some = false;
    std::optional<ProcessesRead> read = {};  ///< where holders were counted
};

/// All reference-counted binaries of the dump. Holders are counted only of those that the answer
/// has, unless the question is about them. Memory: 3 bits for each word of the pages that their
/// structures are in, beyond the limit in temporary files; and the rows, kLimit where they need
/// more.
Result<NodeBinaries> node_binaries(Dump& dump, const RowQuery& query, const InputLimits& limits,
                                   const ReadProgress& progress = {});

}  // namespace beamdump::query
