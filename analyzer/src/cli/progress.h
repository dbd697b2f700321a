#pragma once

#include "cli/invocation.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::cli {

/// The progress of a long command: one line, on a terminal only, or told to the listener of the
/// invocation.
class ProgressLine {
  public:
    /// Non-owning.
    explicit ProgressLine(Invocation& invocation)
        : err_(invocation.err()), listener_(invocation.served().progress) {}

    /// Shows `phase` with done and total counts and a remark, at most every tenth of a second.
    void update(std::string_view phase, std::uint64_t done, std::optional<std::uint64_t> total,
                const std::function<std::string()>& remark = {});
    /// Prints a line that stays, on a terminal only.
    void say(std::string_view sentence);
    /// Removes the line.
    void clear();

  private:
    render::Output& err_;
    ProgressListener listener_;
    bool shown_ = false;
    std::chrono::steady_clock::time_point next_;
};

}  // namespace beamdump::cli
