#pragma once

#include <libdump/profile/profile_report.h>
#include <libdump/redact/redactor.h>
#include <libsample/crash/crash_reader.h>
#include <libvm/memory/held_sizes.h>
#include <libvm/target/stop/stop_tracker.h>

#include <records.pb.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace beamdump::capture {

/// By what the largest processes are chosen.
enum class ChooseBy : std::uint8_t { kMemory, kQueue, kReductions };

/// Which ETS tables' rows are captured.
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
    /// What the kernel says of the process, which it holds as it dies; `mode` is
    /// CAPTURE_MODE_CRASHED then.
    std::optional<sampler::CrashFacts> crash;
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
    /// Whether addresses in `blocks` are searched for in the node's memory.
    bool search_pointers = false;
    /// Rows of ETS tables; nothing: none where only some processes or none are captured, else a
    /// sample.
    std::optional<EtsRowsWanted> ets;
    /// Allocators ("binary_alloc") whose blocks in use are written too.
    std::vector<std::string> blocks;
    /// Why it is taken, for the dump; empty: not said.
    std::string reason;
    /// Whether a copy from the running node is proven consistent. Off only where a test shows that
    /// it must be on: no option of the program reaches it.
    bool validate = true;
    /// Whether processes are read in a thread of its own while those before them are captured.
    bool read_ahead = true;
    /// As if the executable had no symbols and no debug file.
    bool no_symbols = false;
    /// A layout file to use whatever the release, or a folder of them to use instead of the
    /// built-in ones.
    std::optional<std::filesystem::path> layout;
    /// Samples of what the node did before, to be written into the dump. Null: none.
    std::shared_ptr<const ProfileReport> samples;
    /// A file with what beamdump-watch read of the node before, for the dump: a History message.
    std::optional<std::filesystem::path> history;
    /// Hides the values; also the filter of the DumpWriter. Null: nothing is hidden.
    std::shared_ptr<redact::Redactor> redactor;
    /// Debug files are looked for there too; empty: nowhere else than where the system has them.
    std::filesystem::path debug_folder;
    /// How much is held at a time.
    memory::HeldSizes sizes;
    /// What this program may take at most, for the twin's needs beside it; nothing: as usual.
    std::optional<std::uint64_t> own_bytes;
    /// Notified of every stop of the node. Non-owning; null: the capture's own.
    target::StopTracker* stops = nullptr;
};

}  // namespace beamdump::capture
