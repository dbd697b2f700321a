#include "capture/modes/live.h"

#include "capture/copy/contents_ahead.h"
#include "capture/modes/batches.h"

#include <libdump/base/return_if_error.h>

#include <chrono>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace beamdump::capture {
namespace {

/// Many processes of a running node, read together: their structures, the contents of the small
/// ones, their structures again.
class LiveBatch {
  public:
    LiveBatch(const beam::ProcessProof& proof, const beam::ProcessReader& reader)
        : proof_(proof), reader_(&reader) {}

    void begin(std::span<const beam::IdSlot> slots) { slots_.assign(slots.begin(), slots.end()); }

    /// Reads the processes in slots(). `source` must not be cached.
    Result<void> read(memory::MemorySource& source, const WantedContents& wanted);

    [[nodiscard]] std::span<const beam::IdSlot> slots() const { return slots_; }

    /// The process in `slots()[index]`; null if it was left out or changed meanwhile: it is to be
    /// tried alone.
    [[nodiscard]] const ReadTogether* of(std::size_t index) const {
        return processes_[index].still ? &processes_[index] : nullptr;
    }

  private:
    beam::ProcessProof proof_;
    const beam::ProcessReader* reader_;
    ContentsAhead contents_;
    std::vector<beam::IdSlot> slots_;
    std::vector<beam::Address> addresses_;
    std::vector<beam::ProcessReading> before_, after_;
    std::vector<std::span<const std::byte>> structures_;
    std::vector<ReadTogether> processes_;
};

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

constexpr std::chrono::milliseconds kFirstWait{1};

}  // namespace

Result<std::vector<Pending>> capture_live(Session& session, ProcessRetrier& retrier) {
    std::vector<Pending> pending;
    std::vector<Pending> alone;
    const auto try_alone = [&](Pending process) -> Result<void> {
        ASSIGN_OR_RETURN(const auto captured, retrier.attempt(process, nullptr));
        if (!captured) {
            pending.push_back(process);
        }
        return {};
    };
    const auto capture = [&](LiveBatch& batch) -> Result<void> {
        // What is read from here on is newer than the structures.
        session.vm().forget();
        for (std::size_t i = 0; i < batch.slots().size(); ++i) {
            Pending process{batch.slots()[i]};
            const auto* read = batch.of(i);
            ASSIGN_OR_RETURN(const auto captured,
                             read != nullptr ? retrier.attempt(process, *read) : false);
            if (!captured) {
                alone.push_back(process);
            }
        }
        // Only now: it drops what was cached since the structures were read.
        for (const auto& process : std::exchange(alone, {})) {
            RETURN_IF_ERROR(try_alone(process));
        }
        return {};
    };
    if (!session.options().validate || !session.processes().reads_ahead()) {
        RETURN_IF_ERROR(for_each_batch(session, [&](std::span<const beam::IdSlot> slots) {
            Result<void> done;
            for (std::size_t i = 0; i < slots.size() && done; ++i) {
                done = try_alone({slots[i]});
            }
            return done;
        }));
        return pending;
    }
    const LiveBatch empty(retrier.proof(), session.processes().reader());
    BatchesAhead<LiveBatch> batches(session, empty, capture);
    RETURN_IF_ERROR(for_each_batch(
        session, [&](std::span<const beam::IdSlot> slots) { return batches.hand_over(slots); }));
    RETURN_IF_ERROR(batches.finish());
    return pending;
}

Result<void> try_again(Session& session, ProcessRetrier& retrier, std::vector<Pending>& pending,
                       int rounds) {
    auto wait = kFirstWait;
    for (int round = 0; round < rounds && !pending.empty(); ++round, wait *= 2) {
        std::this_thread::sleep_for(wait);
        RETURN_IF_ERROR(session.checkpoint("restless processes", 0, pending.size()));
        std::vector<Pending> left;
        session.count_retries(pending.size());
        for (auto& process : pending) {
            ASSIGN_OR_RETURN(auto done, retrier.attempt(process, nullptr));
            if (!done) {
                left.push_back(process);
            }
        }
        pending = std::move(left);
    }
    return {};
}

}  // namespace beamdump::capture
