#pragma once

#include "query/process/opened_process.h"
#include "query/process/process_details.h"

namespace beamdump::query {

/// process_info's binary: the reference-counted binaries that the process's heap and its fragments
/// refer to, a binary as often as it is referred to. All are counted, the first `limit` (0: all)
/// are looked up.
Result<Excerpt<ReferencedBinary>> process_binaries(Dump& dump, OpenedProcess& process,
                                                   std::uint64_t limit);

}  // namespace beamdump::query
