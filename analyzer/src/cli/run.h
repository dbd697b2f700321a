#pragma once

#include "cli/exit_status.h"
#include "render/shared/output.h"

#include <libdump/base/error.h>

#include <optional>
#include <string>
#include <vector>

namespace beamdump::cli {

/// How a run ended.
struct Ended {
    ExitStatus status = ExitStatus::kFailed;
    /// Code of the error that ended the answer; nullopt with kFailed: an unexpected exception.
    std::optional<ErrorCode> error = {};
};
/// The whole program: `arguments` without its name, the answer to `out`, everything else to `err`.
Ended run_to_end(const std::vector<std::string>& arguments, render::Output& out,
                 render::Output& err);
/// The same; returns the status only.
ExitStatus run(const std::vector<std::string>& arguments, render::Output& out, render::Output& err);

}  // namespace beamdump::cli
