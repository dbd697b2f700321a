#include "capture/modes/live.h"

#include "capture/modes/batches_ahead.h"
#include "capture/modes/live_batch.h"
#include "capture/modes/slots.h"

#include <libdump/base/return_if_error.h>

#include <chrono>
#include <thread>
#include <utility>

namespace beamdump::capture {
namespace {

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
