#pragma once

#include "beam/processes/process_proof.h"
#include "beam/processes/set_aside.h"
#include "beam/tables/process_table.h"
#include "capture/capture.h"
#include "capture/choice.h"
#include "capture/node_capture.h"
#include "capture/process_capture.h"
#include "capture/secrets/cookie.h"
#include "target/process/cpu_quota.h"
#include "target/stop/timed_stop.h"

#include <memory>
#include <optional>

namespace beamdump::capture {

/// How often a stop is tried before the capture goes on without it.
inline constexpr int kStopAttempts = 3;

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

    /// Whether the node runs at this moment, so that what is read of it may be in motion.
    using Moving = std::function<bool()>;
    static bool always() { return true; }
    static bool never() { return false; }

    /// Finds the node's cookies, to have them before it is stopped: what holds them may be at work
    /// in that moment. node_facts() looks for them again.
    Result<void> find_cookies(const Moving& moving);

    /// Writes what belongs to the node as a whole, read from `source`. While it is `moving`, tables
    /// that contradict themselves are read once more.
    Result<void> node_facts(records::MemorySourceKind source, const Moving& moving);
    /// Appends what came to the node's tables and literals since node_facts().
    Result<void> node_growth();

    /// Begins a new epoch; processes tried from here on name it.
    Result<void> epoch(records::MemorySourceKind source);
    [[nodiscard]] std::uint32_t epoch_number() const { return epoch_; }

    /// Tells of progress; fails when the capture was cancelled.
    Result<void> checkpoint(std::string_view phase, std::uint64_t done,
                            std::optional<std::uint64_t> total);
    /// Why a process's memory is not to be captured, by its structure: not chosen, or used_up().
    [[nodiscard]] records::VoidReason leave_out(std::span<const std::byte> structure) const;
    /// Whether the capture's time or size is used up: what is left is to be listed without memory.
    [[nodiscard]] bool used_up() const;

    /// Where running processes should come to stand when the node is stopped, for which its
    /// schedulers may be let run on so long in all: a millisecond is a dozen tries.
    [[nodiscard]] target::Settling settling(
        std::chrono::nanoseconds longest = std::chrono::microseconds(1200));
    /// The node stands so (`threads`), until moves_on(): running processes whose state is certain
    /// can be copied like others.
    void stands(std::span<const target::ThreadRegisters> threads);
    void moves_on() { set_aside_->forget(); }

    /// Stops the node, at the third attempt at the latest, where a busy machine is all that keeps
    /// it from standing in time. The stop ends when the output takes nothing, the capture is
    /// cancelled or its time is up, also before `longest`.
    Result<target::TimedStop> stop(std::optional<std::chrono::nanoseconds> longest,
                                   target::Settling settling);
    /// Before a stop: waits until a quota of processor time is there anew. Gives for how long the
    /// node can then be held without running out of it; nothing: there is no such quota.
    std::optional<std::chrono::nanoseconds> await_quota();
    /// A stop has ended, perhaps by itself: what is read from here on is in motion. Says so where
    /// the output was the reason.
    void stop_ended();
    /// Whoever stops the node tells them.
    [[nodiscard]] target::Holds& holds();
    /// After stops that could not be made: whether the capture can go on without them, with that
    /// warning.
    [[nodiscard]] bool go_on_without_stops(const Error& error, std::size_t left);
    void count_retries(std::uint64_t count) { retries_ += count; }
    void warn(std::string text) { trailer_.add_warning(std::move(text)); }

    /// Writes indexes and trailer. Nothing may be called after it.
    Result<CaptureReport> finish();

    [[nodiscard]] const CaptureOptions& options() const { return options_; }
    [[nodiscard]] beam::Vm& vm() { return *vm_; }
    [[nodiscard]] beam::ProcessTable& table() { return *table_; }
    [[nodiscard]] ProcessCapture& processes() { return *processes_; }
    [[nodiscard]] BinaryStore& binaries() { return *binaries_; }
    [[nodiscard]] const beam::SetAside& set_aside() const { return *set_aside_; }

  private:
    Session(const CaptureOptions& options, std::unique_ptr<beam::Vm> vm, Choice choice,
            DumpWriter writer, ProgressListener& listener, const std::atomic<bool>& cancelled);
    Result<void> find_code();
    Result<void> find_cookies_once();
    Result<void> open_processes();
    Result<void> totals();
    [[nodiscard]] bool out_of_time() const;
    [[nodiscard]] bool exceeds(std::uint64_t bytes) const;

    const CaptureOptions& options_;
    target::Holds own_holds_;
    std::atomic<bool> output_stalled_ = false;
    std::optional<target::CpuQuota> quota_;  // that holds back the threads that hold the node
    bool told_of_quota_ = false;
    std::unique_ptr<beam::Vm> vm_;
    Choice choice_;
    DumpWriter writer_;
    ProgressListener& listener_;
    const std::atomic<bool>& cancelled_;
    Cookies cookies_;
    std::optional<Error> cookies_unknown_;  // why what `auth` holds was never read
    bool cookies_known_ = false;
    records::Trailer trailer_;
    std::optional<beam::SetAside> set_aside_;
    std::optional<RegionCopier> copier_;
    std::optional<NodeCapture> node_;
    std::optional<beam::CodeLookup> code_;
    std::optional<BinaryStore> binaries_;
    std::optional<ProcessIndexWriter> index_;
    std::optional<beam::ProcessTable> table_;
    std::optional<ProcessCapture> processes_;
    std::uint32_t epoch_ = 0;
    std::uint64_t retries_ = 0;
    std::int64_t started_ns_ = 0;
};

}  // namespace beamdump::capture
