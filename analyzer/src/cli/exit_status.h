#pragma once

namespace beamdump::cli {

/// Exit statuses; the same as beamdump-capture's.
enum class ExitStatus : int {
    kDone = 0,
    kFailed = 1,
    kUsage = 2,
    /// Done, but data was lost: a truncated dump, a void process, placeholders. Not what the
    /// capture was not to copy (--binary-bytes).
    kIncomplete = 3,
    kFound = 4,  ///< beamdump-analyze only: a check found what it looks for
};

}  // namespace beamdump::cli
