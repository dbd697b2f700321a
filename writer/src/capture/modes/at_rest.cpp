#include "capture/modes/at_rest.h"

#include "capture/copy/contents_ahead.h"
#include "capture/modes/slots.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::capture {
namespace {

/// Reads many structures at once and tries their processes one by one.
class AtRest {
  public:
    AtRest(Session& session, bool last, const std::function<Result<records::VoidReason>()>* watch)
        : session_(session), last_(last), watch_(watch) {}

    Result<void> batch(std::span<const beam::IdSlot> slots) {
        auto& capture = session_.processes();
        const std::size_t bytes = capture.reader().bytes();
        structures_.resize(slots.size() * bytes);
        reads_.resize(slots.size());
        for (std::size_t index = 0; index < slots.size(); ++index) {
            reads_[index] = {slots[index].address,
                             std::span(structures_).subspan(index * bytes, bytes), false};
        }
        RETURN_IF_ERROR(merged_.read(session_.vm().bulk(), reads_));
        RETURN_IF_ERROR(read_contents());
        for (std::size_t index = 0; index < slots.size(); ++index) {
            if (!reads_[index].done) {
                continue;
            }
            Try request{slots[index], reads_[index].into, session_.epoch_number()};
            request.yielded =
                session_.stopper().yield_state().apply(slots[index].address, reads_[index].into);
            request.contents = contents_.of(index);
            request.watch = watch_;
            request.skip_reason = session_.skip_reason(reads_[index].into);
            request.last = last_ || request.skip_reason != records::VOID_REASON_NONE;
            ASSIGN_OR_RETURN(auto outcome, capture.capture(request));
            if (!request.last && outcome.reason != records::VOID_REASON_NONE) {
                left_.push_back(slots[index]);
            }
        }
        return {};
    }

    std::vector<beam::IdSlot> left() { return std::move(left_); }

  private:
    /// Of the processes whose structures are in reads_. The few that run are read again by their
    /// completed structures.
    Result<void> read_contents() {
        auto& capture = session_.processes();
        wanted_.assign(reads_.size(), ContentsAhead::kNone);
        for (std::size_t index = 0; index < reads_.size(); ++index) {
            const auto& read = reads_[index];
            if (read.done && capture.reads_ahead() &&
                session_.skip_reason(read.into) == records::VOID_REASON_NONE) {
                wanted_[index] = read.into;
            }
        }
        return contents_.read(session_.vm().target().memory(), capture.reader(), wanted_);
    }

    Session& session_;
    bool last_;
    const std::function<Result<records::VoidReason>()>* watch_;
    std::vector<std::byte> structures_;
    std::vector<memory::BatchRead> reads_;
    std::vector<std::span<const std::byte>> wanted_;
    memory::MergedReads merged_;
    ContentsAhead contents_;
    std::vector<beam::IdSlot> left_;
};

}  // namespace

Result<std::vector<beam::IdSlot>> capture_at_rest(
    Session& session, bool last, const std::function<Result<records::VoidReason>()>* watch) {
    AtRest at_rest(session, last, watch);
    auto done = for_each_batch(
        session, [&](std::span<const beam::IdSlot> slots) { return at_rest.batch(slots); });
    if (done) {
        // While nothing changes: at a later read the address may hold another binary.
        done = session.processes().binaries().settle();
    }
    if (!done) {
        return std::unexpected(done.error());
    }
    return at_rest.left();
}

}  // namespace beamdump::capture
