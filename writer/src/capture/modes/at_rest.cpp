#include "capture/modes/at_rest.h"

#include "capture/copy/contents_ahead.h"
#include "capture/modes/batches.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::capture {
namespace {

/// Structures of many processes and the contents of small ones.
class RestBatch {
  public:
    /// `contents`: whether they may be read.
    RestBatch(const beam::ProcessReader& reader, bool contents)
        : reader_(&reader), with_contents_(contents) {}

    void begin(std::span<const beam::IdSlot> slots) { slots_.assign(slots.begin(), slots.end()); }

    Result<void> read(memory::MemorySource& source, const WantedContents& wanted) {
        const std::size_t bytes = reader_->bytes();
        structures_.resize(slots_.size() * bytes);
        reads_.resize(slots_.size());
        for (std::size_t index = 0; index < slots_.size(); ++index) {
            reads_[index] = {slots_[index].address,
                             std::span(structures_).subspan(index * bytes, bytes), false};
        }
        RETURN_IF_ERROR(merged_.read(source, reads_));
        // The few that run are read again by their completed structures.
        wanted_.assign(reads_.size(), ContentsAhead::kNone);
        for (std::size_t index = 0; index < reads_.size() && with_contents_; ++index) {
            if (reads_[index].done && wanted(reads_[index].into)) {
                wanted_[index] = reads_[index].into;
            }
        }
        return contents_.read(source, *reader_, wanted_);
    }

    [[nodiscard]] std::span<const beam::IdSlot> slots() const { return slots_; }
    /// The structure of the process in `slots()[index]`; empty: it could not be read.
    [[nodiscard]] std::span<std::byte> structure(std::size_t index) {
        return reads_[index].done ? reads_[index].into : std::span<std::byte>();
    }
    /// Null: left out.
    [[nodiscard]] const std::vector<memory::HeldPart>* contents(std::size_t index) const {
        return contents_.of(index);
    }

  private:
    const beam::ProcessReader* reader_;
    bool with_contents_;
    std::vector<beam::IdSlot> slots_;
    std::vector<std::byte> structures_;
    std::vector<memory::BatchRead> reads_;
    std::vector<std::span<const std::byte>> wanted_;
    memory::MergedReads merged_;
    ContentsAhead contents_;
};

/// Tries the processes of batches one by one.
class AtRest {
  public:
    AtRest(Session& session, LeftOver left_over,
           const std::function<Result<records::VoidReason>()>* watch)
        : session_(session), left_over_(left_over), watch_(watch) {}

    Result<void> capture(RestBatch& batch) {
        for (std::size_t index = 0; index < batch.slots().size(); ++index) {
            const auto structure = batch.structure(index);
            if (structure.empty()) {
                continue;
            }
            const auto& slot = batch.slots()[index];
            Try request{slot, structure, session_.epoch_number()};
            const auto& yield_state = session_.stopper().yield_state();
            request.yielded = yield_state.apply(slot.address, structure);
            request.own_collection = yield_state.apply_to_collection(slot.address, structure);
            if (const auto* state = yield_state.of(slot.address)) {
                request.in_function = state->in_function;
                request.without_frame = state->without_frame;
                request.without_x_registers = state->without_x_registers;
            }
            request.contents = batch.contents(index);
            request.watch = watch_;
            request.standing = true;
            request.unclear = session_.stopper().collectors().unclear(slot.address);
            request.mended = session_.stopper().collectors().mended(slot.address);
            request.skip_reason = session_.skip_reason(structure);
            request.last = is_last(structure) || request.skip_reason != records::VOID_REASON_NONE;
            ASSIGN_OR_RETURN(auto outcome, session_.processes().capture(request));
            if (!request.last && outcome.reason != records::VOID_REASON_NONE) {
                left_.push_back(slot);
            }
        }
        return {};
    }

    std::vector<beam::IdSlot> left() { return std::move(left_); }

  private:
    [[nodiscard]] bool is_last(std::span<const std::byte> structure) const {
        return left_over_ == LeftOver::kListed ||
               (left_over_ == LeftOver::kLargeAreReturned && !session_.is_large(structure));
    }

    Session& session_;
    LeftOver left_over_;
    const std::function<Result<records::VoidReason>()>* watch_;
    std::vector<beam::IdSlot> left_;
};

}  // namespace

Result<std::vector<beam::IdSlot>> capture_at_rest(
    Session& session, LeftOver left_over,
    const std::function<Result<records::VoidReason>()>* watch) {
    AtRest at_rest(session, left_over, watch);
    const auto& capture = session.processes();
    const RestBatch empty(capture.reader(), capture.reads_ahead());
    BatchesAhead<RestBatch> batches(session, empty,
                                    [&](RestBatch& batch) { return at_rest.capture(batch); });
    auto done = for_each_batch(
        session, [&](std::span<const beam::IdSlot> slots) { return batches.hand_over(slots); });
    if (done) {
        done = batches.finish();
    }
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
