#pragma once

#include <libdump/profile/profile_report.h>
#include <libvm/beam/locate/locate.h>

#include <atomic>
#include <chrono>
#include <sys/types.h>

namespace beamdump::sampler {

/// The samples of a node for a time, or until `cancelled`, to be kept in a dump: a report with a
/// log. Errors as ObservedNode::open() and collect_profile().
Result<ProfileReport> sample_node(pid_t pid, const beam::LocateOptions& how,
                                  std::chrono::milliseconds duration,
                                  const std::atomic<bool>& cancelled);

}  // namespace beamdump::sampler
