#pragma once

#include "render/shared/output.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::cli {

/// The progress of a long command: one line, on a terminal only.
class ProgressLine {
  public:
    /// Non-owning.
    explicit ProgressLine(render::Output& err) : err_(err) {}

    /// Shows `phase` with done and total counts and a remark, at most every tenth of a second.
    void update(std::string_view phase, std::uint64_t done, std::optional<std::uint64_t> total,
                const std::function<std::string()>& remark = {});
    /// Prints a line that stays, on a terminal only.
    void say(std::string_view sentence);
    /// Removes the line.
    void clear();

  private:
    render::Output& err_;
    bool shown_ = false;
    std::chrono::steady_clock::time_point next_;
};

}  // namespace beamdump::cli
