#pragma once

#include "capture/node/capture_options.h"
#include "capture/node/ets_capture.h"
#include "capture/node/node_capture.h"
#include "capture/node/socket_capture.h"
#include "capture/secrets/cookie_finder.h"
#include "capture/session/capture_report.h"
#include "capture/session/choice.h"
#include "capture/session/node_stopper.h"
#include "capture/session/process_capture.h"

#include <libsample/crash/crash_reader.h>
#include <libvm/beam/processes/process_proof.h>
#include <libvm/beam/tables/id_table.h>
#include <libvm/beam/vm/steady_read.h>

#include <atomic>
#include <memory>
#include <optional>

namespace beamdump::capture {

/// One capture from the first record to the last: the dump being written and all that the ways of
/// reading processes (live, in stops, from a twin or a core) share.
class Session {
  public:
    /// Non-owning listener and flag. `vm` has passed its checks.
    static Result<std::unique_ptr<Session>> begin(const CaptureOptions& options,
                                                  std::unique_ptr<beam::Vm> vm,
                                                  const LayoutDoubts& doubts, Choice choice,
                                                  DumpWriter writer, ProgressListener& listener,
                                                  const std::atomic<bool>& cancelled);
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() = default;

    static bool always() { return true; }
    static bool never() { return false; }

    /// Finds the node's cookies before it is stopped: their owner may be running in the stop.
    /// node_facts() searches for them again.
    Result<void> find_cookies(const beam::Moving& moving);

    /// Writes what belongs to the node as a whole, read from `source`. While it is `moving`, tables
    /// that are inconsistent are read once more.
    Result<void> node_facts(records::MemorySourceKind source, const beam::Moving& moving);
    /// Appends the additions to the node's tables and literals since node_facts().
    Result<void> node_growth();
    /// The node's sockets, last: nothing is stopped any more. See write_sockets().
    Result<void> sockets(const Result<target::SocketDescriptors>& before) {
        return write_sockets(vm_->target().pid(), before, writer_, trailer_);
    }

    /// What the node did since begin(), for the trailer: of one that runs, and was `stopped` for so
    /// long in all.
    void meanwhile(std::chrono::nanoseconds stopped) { node_.meanwhile(stopped); }

    /// How the node died, which does not move. From then on the process that its thread ran is
    /// captured as it was before the BIF or NIF that it was in.
    Result<void> crash(const sampler::CrashFacts& facts);
    /// That no signal ended the node: of a core that gcore wrote.
    Result<void> no_crash();

    /// Rows of the ETS tables that are wanted and not yet read whole. `watch`: of a node that does
    /// not move: asked whether that is still so; null while it runs, or if it never moves.
    using Watch = std::function<Result<records::VoidReason>()>;
    Result<void> ets_rows(bool moving, const Watch* watch);
    [[nodiscard]] bool ets_rows_left() const { return ets_.rows_left(ets_wanted()); }

    /// Begins a new epoch, to which later process runs belong.
    Result<void> epoch(records::MemorySourceKind source);
    [[nodiscard]] std::uint32_t epoch_number() const { return epoch_; }

    /// Reports progress; fails when the capture was cancelled.
    Result<void> checkpoint(std::string_view phase, std::uint64_t done,
                            std::optional<std::uint64_t> total);
    /// Whether a process's memory is selected, by its structure. Also for other threads.
    [[nodiscard]] bool wants(std::span<const std::byte> structure) const;
    /// Whether it has 1 MiB or more, by its structure: more than one stop is made for it.
    [[nodiscard]] bool is_large(std::span<const std::byte> structure) const {
        constexpr std::uint64_t kLargeBytes = std::uint64_t{1} << 20U;
        return choice_.bytes(structure) >= kLargeBytes;
    }
    /// Why a process's memory is not captured, by its structure: not selected, or used_up().
    [[nodiscard]] records::VoidReason skip_reason(std::span<const std::byte> structure) const;
    /// Whether the time or size limit is reached: the remaining processes are listed without
    /// memory.
    [[nodiscard]] bool used_up() const;

    /// Stops the node; see NodeStopper::stop(). The stop ends when the output takes nothing, the
    /// capture is cancelled or its time is up, also before `longest`; what is read from then on is
    /// in motion.
    Result<NodeStop> stop(std::optional<std::chrono::nanoseconds> longest,
                          target::Settling settling);
    /// After a failed stop: whether the capture can continue without stops, with a warning.
    [[nodiscard]] bool can_continue_without_stops(const Error& error, std::size_t left);
    void count_retries(std::uint64_t count) { retries_ += count; }
    /// Counts what was read from another source than the target's.
    void count_reads(memory::MemoryStats stats);
    void warn(std::string text) { trailer_.add_warning(std::move(text)); }

    /// Writes indexes and trailer. Nothing may be called after it.
    Result<CaptureReport> finish();

    [[nodiscard]] const CaptureOptions& options() const { return options_; }
    [[nodiscard]] beam::Vm& vm() { return *vm_; }
    /// These two from node_facts() on.
    [[nodiscard]] beam::IdTable& table() { return processes_->table; }
    [[nodiscard]] ProcessCapture& processes() { return processes_->capture; }
    [[nodiscard]] NodeStopper& stopper() { return stopper_; }

  private:
    Session(const CaptureOptions& options, std::unique_ptr<beam::Vm> vm, Choice choice,
            DumpWriter writer, ProgressListener& listener, const std::atomic<bool>& cancelled,
            format::TermScheme scheme, beam::YieldState yield_state, beam::NativeCalls native_calls,
            beam::Collectors collectors);
    Result<std::unique_ptr<beam::CodeLookup>> find_code(const beam::Moving& moving);
    Result<void> literals(BinaryStore& binaries);
    Result<void> persistent_terms(BinaryStore& binaries, const beam::Moving& moving);
    Result<void> open_processes(std::unique_ptr<beam::CodeLookup> code, BinaryStore binaries);
    Result<void> totals();
    [[nodiscard]] EtsRowsWanted ets_wanted() const;
    [[nodiscard]] memory::MemoryStats read_so_far() const;
    [[nodiscard]] bool out_of_time() const;
    [[nodiscard]] bool exceeds(std::uint64_t bytes) const;

    struct Processes {
        beam::IdTable table;
        ProcessCapture capture;
    };

    const CaptureOptions& options_;
    std::unique_ptr<beam::Vm> vm_;
    Choice choice_;
    DumpWriter writer_;
    ProgressListener& listener_;
    const std::atomic<bool>& cancelled_;
    records::Trailer trailer_;
    CookieFinder cookies_;
    NodeStopper stopper_;
    RegionCopier copier_;
    NodeCapture node_;
    EtsCapture ets_;
    ProcessIndexWriter index_;
    std::optional<Processes> processes_;  // from node_facts() on
    std::uint32_t epoch_ = 0;
    std::uint64_t retries_ = 0;
    memory::MemoryStats read_aside_;
    std::int64_t started_ns_ = 0;
};

}  // namespace beamdump::capture
