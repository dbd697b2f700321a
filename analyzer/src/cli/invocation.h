#pragma once

#include "input/opened_dump.h"
#include "render/shared/output.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>

#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::cli {

/// One run of a command: its output, its standard error, and the dumps that it has opened.
class Invocation {
  public:
    /// Non-owning.
    Invocation(render::Output& out, render::Output& err) : out_(out), err_(err) {}

    /// Memory limits for dumps opened later.
    void set_limits(const InputLimits& limits) { limits_ = limits; }
    [[nodiscard]] const InputLimits& limits() const { return limits_; }
    /// Where facts of crash dumps opened later are kept; nowhere by default.
    void set_cache(crash::CacheChoice cache) { cache_ = std::move(cache); }

    [[nodiscard]] render::Output& out() { return out_; }
    [[nodiscard]] render::Output& err() { return err_; }

    /// One line on standard error: "beamdump-analyze: ...".
    void report(std::string_view sentence);

    /// Says so if a file is redacted.
    void report_redaction(const std::string& path, const std::optional<std::string>& redaction);

    /// Opens a dump, which stays open. `choice`: what to convert of a crash dump.
    Result<Dump*> open(const std::string& path, const crash::ConvertChoice& choice);
    [[nodiscard]] const std::deque<input::OpenedDump>& opened() const { return opened_; }

  private:
    render::Output& out_;
    render::Output& err_;
    InputLimits limits_;
    crash::CacheChoice cache_;
    std::deque<input::OpenedDump> opened_;
};

}  // namespace beamdump::cli
