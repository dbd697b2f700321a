#pragma once

#include <libdump/profile/profile_report.h>
#include <libdump/redact/redactor.h>
#include <libdump/write/dump_writer.h>
#include <libvm/beam/locate/locate.h>
#include <libvm/target/stop/stop_tracker.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace beamdump::capture {

/// By what the largest processes are chosen.
enum class ChooseBy : std::uint8_t { kMemory, kQueue, kReductions };

/// Of which ETS tables rows are captured.
enum class EtsRowsWanted : std::uint8_t { kNone, kSample, kFull };

/// `--ets sample` has the rows of tables of at most this many bytes.
inline constexpr std::uint64_t kEtsSampleBytes = std::uint64_t{4} << 20U;

/// How long a stop in auto mode may last where nothing else is said.
inline constexpr std::chrono::milliseconds kDefaultPause{50};

/// How long a capture waits for good moments to stop the node, in all, where nothing else is said.
inline constexpr std::chrono::milliseconds kDefaultPatience{3000};

struct CaptureOptions {
    pid_t pid = 0;
    /// An ELF core to read instead of a process; `mode` is CAPTURE_MODE_CORE then.
    std::optional<std::filesystem::path> core;
    /// With `core`: the executable that it is of, instead of the one at the path that it names.
    std::optional<std::filesystem::path> executable;
    records::CaptureMode mode = records::CAPTURE_MODE_FREEZE;
    /// Bytes of each reference-counted binary to keep; nothing: all.
    std::optional<std::uint64_t> binary_bytes = 64;
    /// How long one stop may last; nothing: in freeze mode without end, in auto mode 50 ms.
    std::optional<std::chrono::milliseconds> max_pause;
    /// How long in all is waited, before stops, for moments at which large processes are not in a
    /// collection.
    std::chrono::milliseconds patience = kDefaultPatience;
    /// In snapshot mode: make a twin also where a seccomp filter might end the node for it.
    bool force_twin = false;
    /// After so long what is left is listed without its memory.
    std::optional<std::chrono::milliseconds> timeout;
    /// When the output has this many bytes, the remaining processes are listed without memory.
    std::optional<std::uint64_t> max_bytes;
    /// Only these processes' memory: pids as <0.123.0> or 0.123.0, or registered names.
    std::vector<std::string> processes;
    /// Only the memory of this many: the largest by `by`.
    std::optional<std::uint32_t> top;
    ChooseBy by = ChooseBy::kMemory;
    /// No process's memory, only what its structure says.
    bool no_heaps = false;
    /// No literals: neither what is written in the modules' code nor persistent terms.
    bool no_literals = false;
    /// Rows of ETS tables; nothing: none where only some processes or none are captured, else a
    /// sample.
    std::optional<EtsRowsWanted> ets;
    /// Why it is taken, for the dump; empty: not said.
    std::string reason;
    /// Whether a copy from the running node is proven consistent. Off only where a test shows that
    /// it must be on: no option of the program reaches it.
    bool validate = true;
    /// Whether processes are read in a thread of its own while those before them are captured.
    bool read_ahead = true;
    /// A layout file to use whatever the release, or a folder of them to use instead of the
    /// built-in ones.
    std::optional<std::filesystem::path> layout;
    /// Samples of what the node did before, to be written into the dump. Null: none.
    std::shared_ptr<const ProfileReport> samples;
    /// Hides the values; also the filter of the DumpWriter. Null: nothing is hidden.
    std::shared_ptr<redact::Redactor> redactor;
    /// As if the executable had no symbols and no debug file.
    bool no_symbols = false;
    /// How much is held at a time.
    memory::HeldSizes sizes;
    /// What this program may take at most, for the twin's needs beside it; nothing: as usual.
    std::optional<std::uint64_t> own_bytes;
    /// Notified of every stop of the node. Non-owning; null: the capture's own.
    target::StopTracker* stops = nullptr;
};

/// Notified at intervals of the capture's progress.
struct Progress {
    std::string_view phase;  ///< "processes", "literals", ...
    std::uint64_t done = 0;
    std::optional<std::uint64_t> total;
    std::uint64_t bytes_read = 0;     ///< from the target
    std::uint64_t bytes_written = 0;  ///< to the output
};

class ProgressListener {
  public:
    ProgressListener() = default;
    ProgressListener(const ProgressListener&) = delete;
    ProgressListener& operator=(const ProgressListener&) = delete;
    virtual ~ProgressListener() = default;
    virtual void update(const Progress& progress) = 0;
};

struct CaptureReport {
    DumpWriterStats written;
    records::Totals totals;
    records::CaptureCost cost;
    std::vector<std::string> warnings;
    std::string node_name;
    std::string otp_release;
    bool cut_off = false;  ///< what was read was itself incomplete: a core that was cut off
};

/// How the VM is to be located, by the options. kNotFound: a layout file cannot be read;
/// other errors are Layout::parse()'s.
Result<beam::LocateOptions> locate_options(const CaptureOptions& options);

/// Takes the whole dump: opens the target, checks it, stops it, writes all records, resumes it,
/// finishes the dump. Of a core, which does not move, likewise. `make_writer` is called once the
/// target has passed its checks, so that a refused target leaves no output. `cancelled` is examined
/// often; when set, the target is resumed and the error says so.
using MakeWriter = std::function<Result<DumpWriter>()>;
Result<CaptureReport> capture_node(const CaptureOptions& options, const MakeWriter& make_writer,
                                   ProgressListener& listener, const std::atomic<bool>& cancelled);

}  // namespace beamdump::capture
