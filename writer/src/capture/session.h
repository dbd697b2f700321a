#pragma once

#include "beam/process_proof.h"
#include "beam/process_table.h"
#include "beam/set_aside.h"
#include "capture/capture.h"
#include "capture/choice.h"
#include "capture/cookie.h"
#include "capture/node_capture.h"
#include "capture/process_capture.h"
#include "target/settle.h"

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

    /// Writes what belongs to the node as a whole, read from `source`. With `moving` the node runs
    /// meanwhile, and tables that contradict themselves are read once more.
    Result<void> node_facts(records::MemorySourceKind source, bool moving);
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

    void add_stop(const target::StopCost& cost);
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
    Result<void> find_code_and_cookies();
    Result<void> write_facts();
    Result<void> open_processes();
    Result<void> totals();
    [[nodiscard]] bool exceeds(std::uint64_t bytes) const;

    const CaptureOptions& options_;
    std::unique_ptr<beam::Vm> vm_;
    Choice choice_;
    DumpWriter writer_;
    ProgressListener& listener_;
    const std::atomic<bool>& cancelled_;
    Cookies cookies_;
    std::vector<std::string> arguments_;
    records::Trailer trailer_;
    std::optional<beam::SetAside> set_aside_;
    std::optional<RegionCopier> copier_;
    std::optional<NodeCapture> node_;
    std::optional<beam::CodeLookup> code_;
    std::optional<BinaryStore> binaries_;
    std::optional<ProcessIndexWriter> index_;
    std::optional<beam::ProcessTable> table_;
    std::optional<ProcessCapture> processes_;
    RegionCopier::Scrub scrub_;
    RegionCopier::Scrub scrub_named_;
    std::uint32_t epoch_ = 0;
    std::uint64_t retries_ = 0;
    std::int64_t started_ns_ = 0;
};

}  // namespace beamdump::capture
