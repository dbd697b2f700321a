#include "capture/modes/process_retrier.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::capture {

Result<ProcessRetrier> ProcessRetrier::open(Session& session) {
    ASSIGN_OR_RETURN(auto proof,
                     beam::ProcessProof::open(session.vm().layout(), session.vm().bulk()));
    ASSIGN_OR_RETURN(auto sizer, beam::ProcessSizer::open(session.vm()));
    return ProcessRetrier(session, std::move(proof), sizer);
}

/// Reads the structure of the process that is in the slot now. False: the slot is empty.
Result<bool> ProcessRetrier::look_at(Pending& pending) {
    if (pending.tries != 0) {
        ASSIGN_OR_RETURN(auto used, session_->table().used(pending.slot.slot, 1));
        if (used.empty()) {
            return false;
        }
        pending.slot = used.front();
    }
    return proof_.read(pending.slot.address, before_);
}

/// Since before_ was read.
Result<records::VoidReason> ProcessRetrier::changed(const Pending& pending) {
    ASSIGN_OR_RETURN(auto read, proof_.read(pending.slot.address, after_));
    return read ? proof_.changed(before_, after_) : records::VOID_REASON_EXITING;
}

/// With the structure in before_.
Result<bool> ProcessRetrier::capture(Pending& pending,
                                     const std::vector<memory::HeldPart>* contents,
                                     const Watch* watch, bool standing) {
    ++pending.tries;
    Try request{pending.slot, before_.structure, session_->epoch_number(), pending.tries};
    request.yielded =
        session_->stopper().yield_state().apply(pending.slot.address, before_.structure);
    request.contents = contents;
    request.standing = standing && session_->options().redactor == nullptr;
    request.unclear = session_->stopper().collectors().unclear(pending.slot.address);
    request.mended = session_->stopper().collectors().mended(pending.slot.address);
    request.skip_reason = session_->skip_reason(before_.structure);
    request.last = request.skip_reason != records::VOID_REASON_NONE;
    if (!request.last) {
        pending.detail.clear();
        pending.reason = request.yielded ? records::VOID_REASON_NONE : proof_.busy(before_);
        const bool collecting = pending.reason == records::VOID_REASON_COLLECTING;
        if (!(collecting && request.standing) && pending.reason != records::VOID_REASON_NONE) {
            return false;
        }
    }
    request.watch = watch;
    ASSIGN_OR_RETURN(auto outcome, session_->processes().capture(request));
    pending.reason = outcome.reason;
    pending.detail = outcome.detail;
    return request.last || outcome.no_process || outcome.reason == records::VOID_REASON_NONE;
}

Result<bool> ProcessRetrier::attempt(Pending& pending, const Watch* watch) {
    ASSIGN_OR_RETURN(auto here, look_at(pending));
    if (!here) {
        return true;
    }
    // Data read before the structure may be older than the data it points to.
    session_->vm().forget();
    const Watch same = [&]() -> Result<records::VoidReason> {
        return session_->used_up() ? records::VOID_REASON_LIMIT : changed(pending);
    };
    const bool standing = watch != nullptr;
    if (watch == nullptr && session_->options().validate) {
        watch = &same;
    }
    return capture(pending, nullptr, watch, standing);
}

Result<bool> ProcessRetrier::attempt(Pending& pending, const ReadTogether& read) {
    before_ = *read.before;
    auto& vm = session_->vm();
    const auto reads = vm.reads_beyond_prefetched();
    const Watch same = [&]() -> Result<records::VoidReason> {
        if (session_->used_up()) {
            return records::VOID_REASON_LIMIT;
        }
        // What was read together is known to be consistent; anything else is newer.
        return vm.reads_beyond_prefetched() == reads ? records::VOID_REASON_NONE : changed(pending);
    };
    return capture(pending, read.contents, &same, false);
}

Result<std::optional<beam::ProcessSize>> ProcessRetrier::size(const Pending& pending) {
    ASSIGN_OR_RETURN(auto read, proof_.read(pending.slot.address, after_));
    return read ? std::optional(sizer_.size(after_.structure)) : std::nullopt;
}

Result<void> ProcessRetrier::list(std::span<Pending> pending) {
    for (auto& process : pending) {
        session_->vm().forget();
        ASSIGN_OR_RETURN(auto here, look_at(process));
        if (!here) {
            continue;
        }
        Try request{process.slot, before_.structure, session_->epoch_number(), process.tries};
        request.skip_reason = process.reason;
        request.skip_detail = process.detail;
        RETURN_IF_ERROR(session_->processes().capture(request));
    }
    return {};
}

}  // namespace beamdump::capture
