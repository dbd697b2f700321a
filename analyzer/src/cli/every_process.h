#pragma once

#include "cli/command.h"
#include "cli/progress.h"
#include "query/findings/findings.h"
#include "query/process/every_process.h"

#include <string_view>

namespace beamdump::cli {

// For commands that read the terms of all processes.

/// A progress line over processes.
class ReadingProgress {
  public:
    /// Non-owning.
    ReadingProgress(Invocation& invocation, std::string_view phase)
        : line_(invocation), phase_(phase) {}

    /// Refers to this.
    [[nodiscard]] query::ReadProgress callback() {
        return
            [this](std::uint64_t done, std::uint64_t total) { line_.update(phase_, done, total); };
    }
    void end() { line_.clear(); }

  private:
    ProgressLine line_;
    std::string_view phase_;
};

/// Says how many processes' terms the answer lacks, and why.
Outcome report_processes_read(Invocation& invocation, const query::ProcessesRead& counts);
/// Says which rules could not look where they should have, and which terms were not read for them.
Outcome report_findings_left_out(Invocation& invocation, const query::Findings& findings);

}  // namespace beamdump::cli
