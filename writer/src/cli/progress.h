#pragma once

#include "capture/capture.h"

#include <libdump/base/amount_text.h>
#include <program/streams.h>

#include <chrono>
#include <functional>
#include <string>

namespace beamdump::cli {

/// Shows a capture's progress: a bar on a terminal, otherwise a line every few seconds.
class ProgressPrinter final : public capture::ProgressListener {
  public:
    using Clock = std::function<std::chrono::steady_clock::time_point()>;

    /// Non-owning: `streams` must outlive the printer.
    explicit ProgressPrinter(program::Streams& streams,
                             Clock clock = std::chrono::steady_clock::now);

    void update(const capture::Progress& progress) override;
    /// Removes the bar before other output.
    void clear();

  private:
    [[nodiscard]] std::string bar(const capture::Progress& progress) const;

    program::Streams& streams_;
    Clock clock_;
    std::chrono::steady_clock::time_point next_;
    bool shown_ = false;
};

/// --quiet.
class NoProgress final : public capture::ProgressListener {
  public:
    void update(const capture::Progress& /*progress*/) override {}
};

}  // namespace beamdump::cli
