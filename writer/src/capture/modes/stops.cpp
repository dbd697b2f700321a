#include "capture/modes/stops.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>
#include <thread>

namespace beamdump::capture {
namespace {

using std::chrono::nanoseconds;

/// Bytes copied in one stop that covers several processes. Together with stopping the threads it
/// takes a few milliseconds.
constexpr nanoseconds kSlice = std::chrono::microseconds(2500);
/// Consecutive stops that capture nothing: the remaining processes run all the time.
constexpr int kVainStops = 12;
constexpr std::chrono::milliseconds kFirstStopWait{2};
constexpr std::chrono::milliseconds kLongestWait{50};

/// An upper estimate of the time to copy: measured on slow machines, including following pointers.
nanoseconds estimate(const beam::ProcessSize& size) {
    return nanoseconds(60'000 + size.bytes + size.messages * 1'500);
}

struct SizedProcess {
    Pending process;
    nanoseconds estimate;
};

/// Sorted by size, smallest first. Processes that take longer than `most` go to `too_large`.
Result<std::vector<SizedProcess>> by_size(ProcessRetrier& retrier, std::vector<Pending>& pending,
                                          nanoseconds most, std::vector<Pending>& too_large) {
    std::vector<SizedProcess> sized;
    for (const auto& process : pending) {
        ASSIGN_OR_RETURN(auto size, retrier.size(process));
        if (size && estimate(*size) > most) {
            too_large.push_back(process);
        } else if (size) {
            sized.push_back({process, estimate(*size)});
        }
    }
    std::ranges::sort(sized, {}, &SizedProcess::estimate);
    return sized;
}

/// Captures in one stop as many of `sized` as fit, from the front, at least one. Returns those that
/// are left.
Result<std::vector<Pending>> one_stop(ProcessRetrier& retrier, std::vector<SizedProcess>& sized,
                                      nanoseconds longest, NodeStop stop) {
    const ProcessRetrier::Watch watch = [&stop] { return stop.watch(); };
    std::vector<Pending> left;
    bool first = true;
    for (auto& [process, needed] : sized) {
        const bool fits = first || stop.elapsed() + needed < std::min(kSlice, longest);
        if (!fits || stop.expired()) {
            left.push_back(process);
            continue;
        }
        ASSIGN_OR_RETURN(auto done, retrier.attempt(process, &watch));
        if (!done) {
            left.push_back(process);
        } else {
            first = false;
        }
    }
    return left;
}

}  // namespace

Result<bool> capture_in_stops(Session& session, ProcessRetrier& retrier,
                              std::vector<Pending>& pending, std::vector<Pending>& too_large,
                              std::chrono::nanoseconds longest, std::chrono::nanoseconds most) {
    std::chrono::milliseconds wait = kFirstStopWait;
    int vain = 0;
    for (int stops = 0; stops < kMaxStops && vain < kVainStops && !pending.empty(); ++stops) {
        RETURN_IF_ERROR(session.checkpoint("restless processes", 0, pending.size()));
        ASSIGN_OR_RETURN(auto sized, by_size(retrier, pending, most, too_large));
        if (sized.empty()) {
            pending.clear();
            break;
        }
        RETURN_IF_ERROR(session.epoch(records::MEMORY_SOURCE_STOPPED));
        auto stop = session.stop(longest, session.stopper().settling());
        if (!stop && session.can_continue_without_stops(stop.error(), pending.size())) {
            return false;
        }
        if (!stop) {
            return std::unexpected(stop.error());
        }
        session.count_retries(sized.size());
        ASSIGN_OR_RETURN(auto left, one_stop(retrier, sized, longest, std::move(*stop)));
        vain = left.size() < sized.size() ? 0 : vain + 1;
        pending = std::move(left);
        if (!pending.empty()) {
            std::this_thread::sleep_for(wait);
            wait = std::min(wait * 2, kLongestWait);
        }
    }
    return true;
}

}  // namespace beamdump::capture
