#include "capture/modes/live.h"

#include "capture/modes/slots.h"

#include <libdump/base/return_if_error.h>

#include <chrono>
#include <thread>

namespace beamdump::capture {
namespace {

constexpr std::chrono::milliseconds kFirstWait{1};

}  // namespace

Result<std::vector<Pending>> capture_live(Session& session, ProcessRetrier& retrier) {
    std::vector<Pending> pending;
    auto done = for_each_batch(session, [&](std::span<const beam::IdSlot> slots) -> Result<void> {
        for (const auto& slot : slots) {
            Pending process{slot};
            ASSIGN_OR_RETURN(auto captured, retrier.attempt(process, nullptr));
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
