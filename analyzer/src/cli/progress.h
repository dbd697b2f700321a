#pragma once

#include "crash_dump/crash_dump.h"
#include "render/output.h"

#include <chrono>

namespace beamdump::cli {

/// Shows how far a long command is: one line, on a terminal only.
class ProgressLine {
  public:
    /// Non-owning.
    explicit ProgressLine(render::Output& err) : err_(err), shows_(err.is_terminal()) {}

    void update(const crash_dump::Progress& progress);
    /// Removes the line, so that what follows stands alone.
    void clear();

  private:
    render::Output& err_;
    bool shows_;
    bool shown_ = false;
    std::chrono::steady_clock::time_point next_;
};

}  // namespace beamdump::cli
