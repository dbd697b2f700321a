#include "capture/modes/batches.h"

#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libvm/beam/processes/process.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

namespace beamdump::capture {
namespace {

constexpr std::uint32_t kSlotsAtOnce = 1024;

using VisitSlots = std::function<Result<void>(std::span<const beam::IdSlot>)>;

struct SizedSlot {
    std::uint64_t bytes = 0;
    beam::IdSlot slot;
};

/// Divides slots into batches and counts them.
class Batches {
  public:
    Batches(Session& session, const VisitSlots& visit) : session_(session), visit_(visit) {}

    Result<void> hand_over(std::span<const beam::IdSlot> slots) {
        const auto most = session_.vm().sizes().processes;
        for (std::size_t at = 0; at < slots.size(); at += most) {
            const auto batch = slots.subspan(at, std::min(most, slots.size() - at));
            seen_ += batch.size();
            RETURN_IF_ERROR(
                session_.checkpoint("processes", seen_, std::max<std::uint64_t>(seen_, total())));
            RETURN_IF_ERROR(visit_(batch));
        }
        return {};
    }

  private:
    [[nodiscard]] std::uint64_t total() const { return session_.table().count(); }

    Session& session_;
    const VisitSlots& visit_;
    std::uint64_t seen_ = 0;
};

Result<void> in_table_order(Session& session, const VisitSlots& visit) {
    auto& table = session.table();
    for (std::uint32_t first = 0; first < table.slots(); first += kSlotsAtOnce) {
        ASSIGN_OR_RETURN(auto used, table.used(first, kSlotsAtOnce));
        RETURN_IF_ERROR(visit(used));
    }
    return {};
}

Result<void> outcome_of(const std::function<Result<void>()>& job) {
    try {
        return job();
    } catch (const std::bad_alloc& failure) {
        return std::unexpected(error_of(failure));
    }
}

}  // namespace

Result<void> for_each_batch(Session& session, const VisitSlots& visit) {
    Batches batches(session, visit);
    if (!session.options().max_bytes) {
        return in_table_order(
            session, [&](std::span<const beam::IdSlot> slots) { return batches.hand_over(slots); });
    }
    ASSIGN_OR_RETURN(auto sizer, beam::ProcessSizer::open(session.vm()));
    std::vector<SizedSlot> sized;
    std::vector<std::byte> structure(sizer.structure_bytes());
    auto done = in_table_order(session, [&](std::span<const beam::IdSlot> slots) {
        for (const auto& slot : slots) {
            if (session.vm().bulk().read(slot.address, structure)) {
                sized.push_back({sizer.size(structure).bytes, slot});
            }
        }
        return Result<void>();
    });
    if (!done) {
        return done;
    }
    std::ranges::sort(sized, {}, &SizedSlot::bytes);
    std::vector<beam::IdSlot> slots;
    slots.reserve(sized.size());
    for (const auto& one : sized) {
        slots.push_back(one.slot);
    }
    return batches.hand_over(slots);
}

ReadingThread::~ReadingThread() {
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void ReadingThread::add(std::function<Result<void>()> job) {
    if (!thread_.joinable()) {
        try {
            thread_ = std::thread([this] { work(); });
        } catch (const std::system_error&) {
            outcomes_.push_back(outcome_of(job));
            return;
        }
    }
    {
        const std::scoped_lock lock(mutex_);
        jobs_.push_back(std::move(job));
    }
    changed_.notify_all();
}

Result<void> ReadingThread::wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !outcomes_.empty(); });
    auto outcome = std::move(outcomes_.front());
    outcomes_.pop_front();
    return outcome;
}

void ReadingThread::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
        if (stopping_) {
            return;
        }
        const auto job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        auto outcome = outcome_of(job);
        lock.lock();
        outcomes_.push_back(std::move(outcome));
        changed_.notify_all();
    }
}

}  // namespace beamdump::capture
