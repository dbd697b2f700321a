#pragma once

#include "query/holders/node_sweep.h"
#include "query/process/every_process.h"
#include "query/rows/row_list.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace beamdump::query {

/// Who refers to the NIF resources of one type.
struct ResourceHolders {
    RowList list;
    std::string type;                          ///< as module:name
    std::optional<std::uint64_t> living = {};  ///< by the type's reference count
    std::uint64_t referred_to = 0;             ///< of them, different ones
    NodeSweepCounts node = {};
    std::uint64_t unreadable = 0;
    ProcessesRead read = {};
};

/// Processes, ETS tables, literals of modules and persistent terms.
std::span<const Column> resource_holder_columns();
inline constexpr std::string_view kResourceHolderSort = "references";

/// The holders of the type of that name, module:name. kNotFound, with the names that there are.
/// Reads the off-heap lists of all processes and what no process holds. Memory: 48 bytes for each
/// resource that a term refers to: kLimit where that is more than the limit.
Result<ResourceHolders> resource_holders(Dump& dump, const std::string& type, const RowQuery& query,
                                         const InputLimits& limits, const ReadProgress& progress);

}  // namespace beamdump::query
