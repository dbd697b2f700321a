#include "capture/modes/live.h"

#include "capture/modes/slots.h"

#include <chrono>
#include <thread>

namespace beamdump::capture {
namespace {

constexpr std::chrono::milliseconds kFirstWait{1};

}  // namespace

Result<std::vector<Pending>> capture_live(Session& session, Tries& tries) {
    std::vector<Pending> pending;
    auto done =
        for_each_batch(session, [&](std::span<const beam::ProcessSlot> slots) -> Result<void> {
            for (const auto& slot : slots) {
                Pending process{slot};
                auto captured = tries.attempt(process, nullptr);
                if (!captured) {
                    return std::unexpected(captured.error());
                }
                if (!*captured) {
                    pending.push_back(process);
                }
            }
            return {};
        });
    return done ? Result<std::vector<Pending>>(std::move(pending)) : std::unexpected(done.error());
}

Result<void> try_again(Session& session, Tries& tries, std::vector<Pending>& pending, int rounds) {
    auto wait = kFirstWait;
    for (int round = 0; round < rounds && !pending.empty(); ++round, wait *= 2) {
        std::this_thread::sleep_for(wait);
        if (auto on = session.checkpoint("restless processes", 0, pending.size()); !on) {
            return on;
        }
        std::vector<Pending> left;
        session.count_retries(pending.size());
        for (auto& process : pending) {
            auto done = tries.attempt(process, nullptr);
            if (!done) {
                return std::unexpected(done.error());
            }
            if (!*done) {
                left.push_back(process);
            }
        }
        pending = std::move(left);
    }
    return {};
}

}  // namespace beamdump::capture
