#pragma once

#include "capture/session/session.h"

#include <libvm/beam/processes/process.h>
#include <libvm/beam/processes/process_proof.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace beamdump::capture {

/// A process that has kept changing so far.
struct Pending {
    /// A process that was running at each look since `since_ns`, with the same id and reductions.
    struct Run {
        std::uint64_t id = 0;
        std::uint64_t reductions = 0;
        std::int64_t since_ns = 0;    ///< monotonic
        std::int64_t stopped_ns = 0;  ///< how long the capture had stopped the node by then
    };
    beam::IdSlot slot;
    std::uint32_t tries = 0;
    int stops_on_its_way = 0;  ///< that found it in compiled code, not at a yield point
    /// It is captured there at once: a twin is not made again for a better place.
    bool anywhere = false;
    records::VoidReason reason = records::VOID_REASON_NONE;  ///< of the last try
    std::string detail = {};                                 ///< more about it
    std::optional<Run> run = {};
    /// That this run has had no pause for long, as a sentence; empty: it is not known to.
    std::string unpaused = {};
};

/// A process whose structure and contents were read together with those of others (LiveBatch).
struct ReadTogether {
    const beam::ProcessReading* before = nullptr;
    const std::vector<memory::HeldPart>* contents = nullptr;
    bool still = false;  ///< it did not change from `before` until after the contents were read
};

/// Captures single processes of a node that runs or is briefly stopped.
class ProcessRetrier {
  public:
    static Result<ProcessRetrier> open(Session& session);

    /// Reports why a copy must end: see Try::watch. Null: the process's structure is compared (the
    /// node runs).
    using Watch = std::function<Result<records::VoidReason>()>;

    /// Whether the process was captured or has exited; otherwise `pending` has the reason.
    Result<bool> attempt(Pending& pending, const Watch* watch);
    /// Captures a process that was read together with others and is still the same; what else it
    /// has is read now, and its structure once more if there is such.
    Result<bool> attempt(Pending& pending, const ReadTogether& read);

    [[nodiscard]] beam::ProcessProof& proof() { return proof_; }

    /// The process's size by its structure; nullopt if it has exited.
    Result<std::optional<beam::ProcessSize>> size(const Pending& pending);

    /// Looks, before a stop, which processes have run without a pause since they were first looked
    /// at, and waits until that is certain: some 300 ms at most, and nothing where none of them
    /// has.
    Result<void> look_for_unpaused(std::span<Pending> pending);

    /// Lists processes that could not be captured as void. Of one that has run without a pause it
    /// says so, after look_for_unpaused().
    Result<void> list(std::span<Pending> pending);

  private:
    ProcessRetrier(Session& session, beam::ProcessProof proof, beam::ProcessSizer sizer,
                   beam::Field id, beam::Field reductions)
        : session_(&session),
          proof_(std::move(proof)),
          sizer_(sizer),
          id_(id),
          reductions_(reductions) {}
    Result<bool> look_at(Pending& pending);
    Result<bool> capture(Pending& pending, const std::vector<memory::HeldPart>* contents,
                         const Watch* watch, bool standing);
    Result<records::VoidReason> changed(const Pending& pending);
    [[nodiscard]] std::optional<Pending::Run> run_of(const beam::ProcessReading& reading) const;
    void note_run(Pending& pending) const;
    Result<std::string> unpaused(Pending& pending);

    Session* session_;
    beam::ProcessProof proof_;
    beam::ProcessSizer sizer_;
    beam::Field id_, reductions_;
    beam::ProcessReading before_;
    beam::ProcessReading after_;
};

}  // namespace beamdump::capture
