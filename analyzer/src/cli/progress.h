#pragma once

#include "render/shared/output.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::cli {

/// Shows how far a long command is: one line, on a terminal only.
class ProgressLine {
  public:
    /// Non-owning.
    explicit ProgressLine(render::Output& err) : err_(err), shows_(err.is_terminal()) {}

    /// How much of how many things `phase` has done, and `remark` behind that. Every tenth of a
    /// second at most.
    void update(std::string_view phase, std::uint64_t done, std::optional<std::uint64_t> total,
                const std::function<std::string()>& remark = {});
    /// Says something that is known before the end, once, in a line that stays; on a terminal only.
    void say(std::string_view sentence);
    /// Removes the line, so that what follows stands alone.
    void clear();

  private:
    render::Output& err_;
    bool shows_;
    bool shown_ = false;
    std::chrono::steady_clock::time_point next_;
};

}  // namespace beamdump::cli
