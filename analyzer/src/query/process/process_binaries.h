#pragma once

#include "query/process/opened_process.h"
#include "query/process/process_details.h"

namespace beamdump::query {

/// As process_info(binary): the reference-counted binaries that the process's heap and fragments
/// refer to, one entry a reference. All are counted, the first `limit` (0: all) are looked up.
Result<Excerpt<ReferencedBinary>> process_binaries(Dump& dump, OpenedProcess& process,
                                                   std::uint64_t limit);

}  // namespace beamdump::query
