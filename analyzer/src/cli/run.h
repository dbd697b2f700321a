#pragma once

#include "cli/invocation.h"
#include "render/shared/output.h"

#include <libdump/base/error.h>

#include <optional>
#include <string>
#include <vector>

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

/// How a run ended.
struct Ended {
    ExitStatus status = ExitStatus::kFailed;
    /// Code of the error that ended the answer; nullopt with kFailed: an unexpected exception.
    std::optional<ErrorCode> error = {};
};
/// The whole program: `arguments` without its name, the answer to `out`, everything else to `err`.
Ended run_to_end(const std::vector<std::string>& arguments, render::Output& out,
                 render::Output& err);
/// Runs a command line for somebody: dumps are opened by `open`, whatever its options say of that.
Ended run_for(Served served, const input::OpenOptions& open,
              const std::vector<std::string>& arguments, render::Output& out, render::Output& err);
/// Runs the whole program as run_to_end() does, and returns the status only.
ExitStatus run(const std::vector<std::string>& arguments, render::Output& out, render::Output& err);

}  // namespace beamdump::cli
