#pragma once

#include "query/activity/crash.h"

#include <cstdint>
#include <vector>

namespace beamdump::query {

/// The causes that the facts of a crash speak for, the likeliest first. `first`: its first page.
/// `own_pid`: of the node's process.
std::vector<CrashCause> causes_of(const Crash& crash, const records::Crash& first,
                                  std::int64_t own_pid);

}  // namespace beamdump::query
