#include "capture/modes/live_batch.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::capture {

Result<void> LiveBatch::read(memory::MemorySource& source, const WantedContents& wanted) {
    const auto count = slots_.size();
    before_.resize(count);
    after_.resize(count);
    addresses_.clear();
    for (const auto& slot : slots_) {
        addresses_.push_back(slot.address);
    }
    RETURN_IF_ERROR(proof_.read(source, addresses_, before_));
    structures_.assign(count, ContentsAhead::kNone);
    for (std::size_t i = 0; i < count; ++i) {
        const auto& reading = before_[i];
        if (reading.here && proof_.busy(reading) == records::VOID_REASON_NONE &&
            wanted(reading.structure)) {
            structures_[i] = reading.structure;
        }
    }
    RETURN_IF_ERROR(contents_.read(source, *reader_, structures_));
    RETURN_IF_ERROR(proof_.read(source, addresses_, after_));
    processes_.assign(count, {});
    for (std::size_t i = 0; i < count; ++i) {
        const auto* contents = contents_.of(i);
        processes_[i] = {
            .before = &before_[i],
            .contents = contents,
            .still = contents != nullptr && after_[i].here &&
                     proof_.changed(before_[i], after_[i]) == records::VOID_REASON_NONE};
    }
    return {};
}

}  // namespace beamdump::capture
