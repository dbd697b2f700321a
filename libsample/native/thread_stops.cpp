#include <libdump/base/return_if_error.h>
#include <libsample/counts/node_load.h>
#include <libsample/native/thread_image.h>
#include <libsample/native/thread_stops.h>
#include <libvm/target/process/proc_directory.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace beamdump::sampler {
namespace {

/// A stop takes a part of a millisecond where the machine is not busy.
constexpr std::chrono::milliseconds kLongestStop{20};
/// Threads are listed so often.
constexpr std::chrono::milliseconds kBetweenLists{500};
/// So many periods of a thread's processor time may wait for a sample.
constexpr std::uint64_t kMostUnseen = 2;

}  // namespace

Result<void> ThreadStops::list_threads() {
    const auto now = std::chrono::steady_clock::now();
    if (now - listed_ < kBetweenLists) {
        return {};
    }
    listed_ = now;
    ASSIGN_OR_RETURN(auto listed, threads_of_node(pid_));
    std::map<pid_t, Thread> threads;
    for (auto& thread : listed) {
        auto known = threads_.find(thread.id);
        threads[thread.id] = known == threads_.end() ? Thread{} : std::move(known->second);
        threads[thread.id].name = std::move(thread.name);
    }
    threads_ = std::move(threads);
    return {};
}

Result<void> ThreadStops::take(const Visit& visit) {
    RETURN_IF_ERROR(list_threads());
    ASSIGN_OR_RETURN(const auto node, target::ProcDirectory::open(pid_));
    const auto period = static_cast<std::uint64_t>(period_.count());
    for (auto& [id, thread] : threads_) {
        const auto text = node.read(fmt::format("task/{}/schedstat", id));
        const auto used = text ? processor_ns(*text) : std::nullopt;
        if (!used) {
            continue;
        }
        const auto before = std::exchange(thread.used_ns, *used);
        // What it used before it was known is not asked for.
        thread.unseen_ns += before == 0 ? 0 : *used - std::min(before, *used);
        if (thread.unseen_ns < period) {
            continue;
        }
        const auto rest = thread_rest(pid_, id);
        if (rest && rest->state == 'R') {
            thread.unseen_ns -= period;
            RETURN_IF_ERROR(stop(id, thread.name, visit));
        }
        while (thread.unseen_ns > kMostUnseen * period) {
            thread.unseen_ns -= period;
            ++lost_;
        }
    }
    return {};
}

Result<void> ThreadStops::stop(pid_t id, const std::string& name, const Visit& visit) {
    target::TimedStopTerms terms{.longest = kLongestStop, .only = {id}, .stops = stops_};
    // It stays where it is.
    terms.settling = target::Settling{
        .certain = [](const target::ThreadRegisters&) { return true; }, .longest = {}};
    auto stop = target::TimedStop::begin(pid_, std::move(terms));
    if (!stop && stop.error().code == ErrorCode::kLimit) {
        ++not_stopped_;
        return {};
    }
    if (!stop) {
        return std::unexpected(stop.error());
    }
    const auto ended = [&stop] { return stop->expired(); };
    for (const auto& registers : stop->registers()) {
        const auto image = ThreadImage::stopped(registers, *memory_);
        if (!image || ended()) {
            ++not_stopped_;
        } else {
            RETURN_IF_ERROR(visit(image->sample(), name, ended));
        }
    }
    const auto cost = stop->end();
    ++total_.count;
    total_.total_ns += cost.length_ns;
    total_.longest_ns = std::max(total_.longest_ns, cost.length_ns);
    return {};
}

}  // namespace beamdump::sampler
