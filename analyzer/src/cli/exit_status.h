#pragma once

namespace beamdump::cli {

/// How the program ends; the same in beamdump-capture.
enum class ExitStatus : int {
    kDone = 0,
    kFailed = 1,
    kUsage = 2,
    kIncomplete = 3,  ///< done, but of a cut dump, a void process, or with marked gaps
};

}  // namespace beamdump::cli
