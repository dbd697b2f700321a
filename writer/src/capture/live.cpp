#include "capture/live.h"

#include <chrono>
#include <thread>

namespace beamdump::capture {
namespace {

constexpr std::uint32_t kSlotsAtOnce = 1024;
constexpr std::uint64_t kBetweenCheckpoints = 64;
constexpr std::chrono::milliseconds kFirstWait{1};

}  // namespace

Result<std::vector<Pending>> capture_live(Session& session, Tries& tries) {
    std::vector<Pending> pending;
    auto& table = session.table();
    std::uint64_t seen = 0;
    for (std::uint32_t first = 0; first < table.slots(); first += kSlotsAtOnce) {
        auto used = table.used(first, kSlotsAtOnce);
        if (!used) {
            return std::unexpected(used.error());
        }
        for (const auto& slot : *used) {
            Pending process{slot};
            auto done = tries.attempt(process, nullptr);
            if (!done) {
                return std::unexpected(done.error());
            }
            if (!*done) {
                pending.push_back(process);
            }
            if (++seen % kBetweenCheckpoints == 0) {
                if (auto on = session.checkpoint("processes", seen, table.count()); !on) {
                    return std::unexpected(on.error());
                }
            }
        }
    }
    return pending;
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
