#pragma once

#include "input/opened_dump.h"
#include "render/shared/output.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::cli {

/// Whether a recording of beamdump-watch, which has readings alone, is opened as a dump.
enum class Recordings : std::uint8_t { kRefused, kOpened };

/// One run of a command: its output, its standard error, and the dumps that it has opened.
class Invocation {
  public:
    /// Non-owning.
    Invocation(render::Output& out, render::Output& err) : out_(out), err_(err) {}

    /// For dumps opened later.
    void set_open_options(input::OpenOptions options) { open_options_ = std::move(options); }
    [[nodiscard]] const InputLimits& limits() const { return open_options_.limits; }
    /// The file with the private key of an encrypted crash dump; empty: none.
    [[nodiscard]] const std::string& key() const { return open_options_.key; }

    [[nodiscard]] render::Output& out() { return out_; }
    [[nodiscard]] render::Output& err() { return err_; }

    /// One line on standard error: "beamdump-analyze: ...".
    void report(std::string_view sentence);

    /// Says so if a file is redacted.
    void report_redaction(const std::string& path, const std::optional<std::string>& redaction);

    /// Opens a dump, which stays open. `choice`: what to convert of a crash dump. kUnsupported: a
    /// recording, if these are refused.
    Result<Dump*> open(const std::string& path, const crash::ConvertChoice& choice,
                       Recordings recordings = Recordings::kRefused);
    [[nodiscard]] const std::deque<input::OpenedDump>& opened() const { return opened_; }

  private:
    render::Output& out_;
    render::Output& err_;
    input::OpenOptions open_options_;
    std::deque<input::OpenedDump> opened_;
};

}  // namespace beamdump::cli
