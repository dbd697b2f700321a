#pragma once

namespace beamdump::cli {

/// Exit statuses; the same as beamdump-capture's.
enum class ExitStatus : int {
    kDone = 0,
    kFailed = 1,
    kUsage = 2,
    kIncomplete = 3,  ///< done, but with a truncated dump, a void process, or placeholders
    kFound = 4,       ///< beamdump-analyze only: a check found what it looks for
};

}  // namespace beamdump::cli
