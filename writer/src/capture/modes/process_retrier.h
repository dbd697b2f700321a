#pragma once

#include "beam/processes/process_proof.h"
#include "beam/processes/process_size.h"
#include "capture/session.h"

#include <span>
#include <vector>

namespace beamdump::capture {

/// A process that has kept changing so far.
struct Pending {
    beam::IdSlot slot;
    std::uint32_t tries = 0;
    records::VoidReason reason = records::VOID_REASON_NONE;  ///< of the last try
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

    /// The process's size by its structure; nullopt if it has exited.
    Result<std::optional<beam::ProcessSize>> size(const Pending& pending);

    /// Lists processes that could not be captured as void.
    Result<void> list(std::span<Pending> pending);

  private:
    ProcessRetrier(Session& session, beam::ProcessProof proof, beam::ProcessSizer sizer)
        : session_(&session), proof_(std::move(proof)), sizer_(sizer) {}
    Result<bool> look_at(Pending& pending);

    Session* session_;
    beam::ProcessProof proof_;
    beam::ProcessSizer sizer_;
    beam::ProcessReading before_;
    beam::ProcessReading after_;
};

}  // namespace beamdump::capture
