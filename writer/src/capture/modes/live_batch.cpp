#include "capture/modes/live_batch.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::capture {

Result<void> LiveBatch::read(ProcessRetrier& retrier, std::span<const beam::IdSlot> slots) {
    const auto& proof = retrier.proof();
    const auto count = slots.size();
    before_.resize(count);
    after_.resize(count);
    addresses_.clear();
    for (const auto& slot : slots) {
        addresses_.push_back(slot.address);
    }
    RETURN_IF_ERROR(retrier.proof().read(addresses_, before_));
    // Data read before the structures may be older than the data they point to.
    session_->vm().forget();
    structures_.assign(count, ContentsAhead::kNone);
    for (std::size_t i = 0; i < count; ++i) {
        const auto& reading = before_[i];
        if (reading.here && proof.busy(reading) == records::VOID_REASON_NONE &&
            session_->skip_reason(reading.structure) == records::VOID_REASON_NONE) {
            structures_[i] = reading.structure;
        }
    }
    RETURN_IF_ERROR(contents_.read(session_->vm().target().memory(), session_->processes().reader(),
                                   structures_));
    RETURN_IF_ERROR(retrier.proof().read(addresses_, after_));
    processes_.assign(count, {});
    for (std::size_t i = 0; i < count; ++i) {
        const auto* contents = contents_.of(i);
        processes_[i] = {
            .before = &before_[i],
            .contents = contents,
            .still = contents != nullptr && after_[i].here &&
                     proof.changed(before_[i], after_[i]) == records::VOID_REASON_NONE};
    }
    return {};
}

}  // namespace beamdump::capture
