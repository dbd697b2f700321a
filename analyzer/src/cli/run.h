#pragma once

#include "cli/exit_status.h"
#include "render/shared/output.h"

#include <libdump/base/error.h>

#include <optional>
#include <string>
#include <vector>

namespace beamdump::cli {

/// The whole program: `arguments` without its name, the answer to `out`, everything else to `err`.
struct Ended {
    ExitStatus status = ExitStatus::kFailed;
    /// Of the error that ended the answer; nothing with kFailed: one that nobody expected.
    std::optional<ErrorCode> error = {};
};
Ended run_to_end(const std::vector<std::string>& arguments, render::Output& out,
                 render::Output& err);
/// The same, when no more than the status matters.
ExitStatus run(const std::vector<std::string>& arguments, render::Output& out, render::Output& err);

}  // namespace beamdump::cli
