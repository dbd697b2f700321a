#pragma once

#include "input/kept_dumps.h"
#include "input/opened_dump.h"
#include "render/shared/output.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace beamdump::cli {

/// Whether a recording of beamdump-watch, which has readings alone, is opened as a dump.
enum class Recordings : std::uint8_t { kRefused, kOpened };

/// Called with the phase of a long command and what is done of it, at most ten times a second.
using ProgressListener = std::function<void(std::string_view phase, std::uint64_t done,
                                            std::optional<std::uint64_t> total)>;

/// Whether a dump that is not redacted is opened.
enum class Unredacted : std::uint8_t { kOpened, kRefused };

/// For whom a command runs.
struct Served {
    ProgressListener progress = {};  ///< empty: a line on a terminal
    Unredacted unredacted = Unredacted::kOpened;
    /// Dumps that stay open between runs, non-owning; null: each run opens its own.
    input::KeptDumps* kept = nullptr;
};

/// One run of a command: its output, its standard error, and the dumps that it has opened.
class Invocation {
  public:
    /// Non-owning.
    Invocation(render::Output& out, render::Output& err, Served served = {})
        : out_(out), err_(err), served_(std::move(served)) {}

    [[nodiscard]] const Served& served() const { return served_; }
    /// For dumps opened later.
    void set_open_options(input::OpenOptions options) { open_options_ = std::move(options); }
    [[nodiscard]] const input::OpenOptions& open_options() const { return open_options_; }
    [[nodiscard]] const InputLimits& limits() const { return open_options_.limits; }
    /// The file with the private key of an encrypted crash dump; empty: none.
    [[nodiscard]] const std::string& key() const { return open_options_.key; }

    [[nodiscard]] render::Output& out() { return out_; }
    [[nodiscard]] render::Output& err() { return err_; }

    /// One line on standard error: "beamdump-analyze: ...".
    void report(std::string_view sentence);

    /// Says so if a file is redacted; kPermission if it is not and must be.
    Result<void> check_redaction(const std::string& path,
                                 const std::optional<std::string>& redaction);

    /// Opens a dump, which stays open. `choice`: what to convert of a crash dump. kUnsupported: a
    /// recording, if these are refused. kPermission: as check_redaction().
    Result<Dump*> open(const std::string& path, const crash::ConvertChoice& choice,
                       Recordings recordings = Recordings::kRefused);
    [[nodiscard]] const std::deque<input::OpenedDump>& opened() const { return opened_; }
    /// After a run whose reads all went well: hands the dumps to Served::kept, if there is one.
    void keep_opened();

  private:
    using StopForward = std::stop_callback<std::function<void()>>;

    /// What an open dump is kept with; of one that is not to be kept, without a file.
    struct Lease {
        std::optional<input::FileIdentity> file;
        crash::ConvertChoice choice;
        std::stop_source stop;
        std::unique_ptr<StopForward> forward = {};  ///< of the asker's stop to the dump's
    };

    Result<input::OpenedDump> open_file(const std::string& path, const crash::ConvertChoice& choice,
                                        const input::OpenOptions& options);
    /// Opens a dump for this run and later ones, or takes one that is open.
    Result<void> open_kept(const std::string& path, const crash::ConvertChoice& choice);

    render::Output& out_;
    render::Output& err_;
    Served served_;
    input::OpenOptions open_options_;
    std::deque<input::OpenedDump> opened_;
    std::deque<Lease> leases_;  ///< with Served::kept: of each of `opened_`
};

}  // namespace beamdump::cli
