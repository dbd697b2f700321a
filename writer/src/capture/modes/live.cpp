#include "capture/modes/live.h"

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
    LiveBatch batch(session);
    const bool together = session.options().validate && session.processes().reads_ahead();
    auto done = for_each_batch(session, [&](std::span<const beam::IdSlot> slots) -> Result<void> {
        if (together) {
            RETURN_IF_ERROR(batch.read(retrier, slots));
        }
        for (std::size_t i = 0; i < slots.size(); ++i) {
            Pending process{slots[i]};
            const auto* read = together ? batch.of(i) : nullptr;
            ASSIGN_OR_RETURN(const auto captured,
                             read != nullptr ? retrier.attempt(process, *read) : false);
            if (!captured) {
                alone.push_back(process);
            }
        }
        // Only now: it drops what was cached since the structures were read.
        for (auto& process : std::exchange(alone, {})) {
            ASSIGN_OR_RETURN(const auto captured, retrier.attempt(process, nullptr));
            if (!captured) {
                pending.push_back(process);
            }
        }
        return {};
    });
    return done ? Result<std::vector<Pending>>(std::move(pending)) : std::unexpected(done.error());
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
