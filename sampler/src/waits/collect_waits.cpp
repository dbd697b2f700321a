#include "waits/collect_waits.h"

#include <libdump/base/return_if_error.h>
#include <libsample/node/observed_node.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/processes/process_proof.h>
#include <libvm/beam/tables/id_table.h>
#include <libvm/target/process/clock.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

namespace beamdump::sampler {
namespace {

/// What a process has at a moment and that running changes: the reductions that it has used
/// (`reds`, added up when it is scheduled out, erts_schedule(), erl_process.c, OTP 25 to 29), where
/// it is, and its stack's and heap's tops. A run that uses no reduction and ends where it began
/// leaves all as it was, and is not seen.
struct RunMark {
    std::uint64_t id = 0;  ///< the word of its pid, with the serial number
    std::uint64_t reds = 0, place = 0, stop = 0, htop = 0;
    bool operator==(const RunMark&) const = default;
};

/// Follows which processes have not run since when. Memory: at most 120 bytes for each of
/// kMostProcesses.
class Unmoved {
  public:
    static constexpr std::size_t kMostProcesses = std::size_t{1} << 21U;

    static Result<Unmoved> open(ObservedNode& node);

    /// The marks of processes at this moment, in their order; nothing for those that run, collect,
    /// or have ended.
    Result<std::vector<std::optional<RunMark>>> read(std::span<const beam::IdSlot> slots);

    /// Begins a reading of all processes; what the last one did not have is forgotten.
    void begin();
    /// A process in this reading, at `now_ns` of the monotonic clock. It is not followed if there
    /// are too many already.
    void see(std::uint32_t slot, const std::optional<RunMark>& mark, std::int64_t now_ns);
    /// Since when a process is known to have this mark; nothing: it was not seen with it.
    [[nodiscard]] std::optional<std::int64_t> since(std::uint32_t slot, const RunMark& mark) const;
    /// Processes of the last reading that are not followed.
    [[nodiscard]] std::uint64_t not_followed() const { return not_followed_; }

  private:
    struct Seen {
        RunMark mark{};
        std::int64_t since_ns = 0;
        std::uint32_t reading = 0;
    };
    explicit Unmoved(beam::ProcessProof proof) : proof_(std::move(proof)) {}

    beam::ProcessProof proof_;
    beam::Field id_{}, reds_{}, place_{}, stop_{}, htop_{};
    std::unordered_map<std::uint32_t, Seen> seen_;
    std::vector<beam::ProcessReading> readings_;  // reused
    std::vector<Address> addresses_;              // reused
    std::uint32_t reading_ = 0;
    std::uint64_t not_followed_ = 0;
};

Result<Unmoved> Unmoved::open(ObservedNode& node) {
    auto& vm = node.vm();
    ASSIGN_OR_RETURN(auto proof, beam::ProcessProof::open(vm.layout(), vm.bulk()));
    Unmoved unmoved(std::move(proof));
    beam::LayoutNames names(vm.layout());
    unmoved.id_ = names.field(beam::runtime::Process::common_id);
    unmoved.reds_ = names.field(beam::runtime::Process::reds);
    unmoved.place_ = names.field(beam::runtime::Process::i);
    unmoved.stop_ = names.field(beam::runtime::Process::stop);
    unmoved.htop_ = names.field(beam::runtime::Process::htop);
    RETURN_IF_ERROR(names.outcome());
    return unmoved;
}

Result<std::vector<std::optional<RunMark>>> Unmoved::read(std::span<const beam::IdSlot> slots) {
    addresses_.clear();
    std::ranges::transform(slots, std::back_inserter(addresses_), &beam::IdSlot::address);
    readings_.resize(slots.size());
    RETURN_IF_ERROR(proof_.read(addresses_, readings_));
    std::vector<std::optional<RunMark>> marks;
    marks.reserve(slots.size());
    for (const auto& reading : readings_) {
        const auto busy = reading.here ? proof_.busy(reading) : records::VOID_REASON_EXITING;
        // A lock is held to send to it, too.
        if (busy != records::VOID_REASON_NONE && busy != records::VOID_REASON_LOCKED) {
            marks.emplace_back();
            continue;
        }
        const beam::StructView view(reading.structure);
        marks.emplace_back(RunMark{.id = view.get(id_),
                                   .reds = view.get(reds_),
                                   .place = view.get(place_),
                                   .stop = view.get(stop_),
                                   .htop = view.get(htop_)});
    }
    return marks;
}

void Unmoved::begin() {
    std::erase_if(seen_, [&](const auto& entry) { return entry.second.reading != reading_; });
    ++reading_;
    not_followed_ = 0;
}

void Unmoved::see(std::uint32_t slot, const std::optional<RunMark>& mark, std::int64_t now_ns) {
    if (!mark) {
        seen_.erase(slot);
        return;
    }
    const auto known = seen_.find(slot);
    if (known == seen_.end()) {
        if (seen_.size() >= kMostProcesses) {
            ++not_followed_;
            return;
        }
        seen_.emplace(slot, Seen{*mark, now_ns, reading_});
        return;
    }
    if (known->second.mark != *mark) {
        known->second.mark = *mark;
        known->second.since_ns = now_ns;
    }
    known->second.reading = reading_;
}

std::optional<std::int64_t> Unmoved::since(std::uint32_t slot, const RunMark& mark) const {
    const auto known = seen_.find(slot);
    return known != seen_.end() && known->second.mark == mark
               ? std::optional(known->second.since_ns)
               : std::nullopt;
}

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kTableSlots = 4096;
constexpr std::size_t kBatch = 256;
constexpr std::chrono::milliseconds kBetweenReadings{50};
/// Pauses between readings, in parts of what a reading took.
constexpr int kPausePartsOfAReading = 4;
/// Processes of a batch whose stacks are read at first, to know how long that takes.
constexpr std::size_t kTriedOfABatch = 8;
/// The last reading may take so much longer than expected, or twice as long if that is more.
constexpr std::chrono::seconds kSpare{10};
constexpr std::uint64_t kMostBytesOfStacks = std::uint64_t{256} << 20U;

class Waits {
  public:
    Waits(ObservedNode& node, ProcessStacks& stacks, Unmoved& unmoved, const WaitsOptions& options,
          const std::atomic<bool>& cancelled, WaitsReport& report)
        : node_(node),
          stacks_(stacks),
          unmoved_(unmoved),
          options_(options),
          cancelled_(cancelled),
          report_(report) {}

    Result<void> run() {
        const auto end = Clock::now() + options_.duration;
        RETURN_IF_ERROR(first_reading());
        // The last reading takes longer than the others. It begins so early that it ends in time.
        const auto last = end - expected_;
        auto took = expected_;
        while (!cancelled_) {
            const auto pause =
                std::max<Clock::duration>(kBetweenReadings, kPausePartsOfAReading * took);
            sleep_until(std::min(last, Clock::now() + pause));
            const auto began = Clock::now();
            if (cancelled_ || began + took >= last) {
                break;
            }
            RETURN_IF_ERROR(each_batch([&](auto slots) { return follow(slots); }));
            took = Clock::now() - began;
        }
        sleep_until(last);
        ends_by_ = Clock::now() + longest();
        RETURN_IF_ERROR(each_batch([&](auto slots) { return take(slots); }));
        report_.expected_ns = std::chrono::nanoseconds(expected_).count();
        report_.not_followed = unmoved_.not_followed();
        return {};
    }

  private:
    using Batch = std::span<const beam::IdSlot>;

    void sleep_until(Clock::time_point then) const {
        constexpr std::chrono::milliseconds kLongest{50};
        while (!cancelled_ && Clock::now() < then) {
            std::this_thread::sleep_until(std::min(then, Clock::now() + kLongest));
        }
    }

    /// Reads all for the first time, and the stacks of some, to know how long the last reading will
    /// take. It is told from processor time: how long this program is held up says nothing of then.
    Result<void> first_reading() {
        const auto began = target::clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        std::int64_t of_stacks = 0;
        std::int64_t stacks = 0;
        std::int64_t processes = 0;
        const auto read = each_batch([&](Batch slots) -> Result<void> {
            RETURN_IF_ERROR(follow(slots));
            const auto before = target::clock_ns(CLOCK_PROCESS_CPUTIME_ID);
            for (const auto& slot : slots.first(std::min(slots.size(), kTriedOfABatch))) {
                RETURN_IF_ERROR(stacks_.at_rest(slot, false));
                ++stacks;
            }
            of_stacks += target::clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before;
            processes += static_cast<std::int64_t>(slots.size());
            return {};
        });
        RETURN_IF_ERROR(read);
        first_ended_ns_ = target::clock_ns(CLOCK_MONOTONIC);
        const auto of_marks = target::clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began - of_stacks;
        const auto of_all_stacks = stacks == 0 ? 0
                                               : static_cast<double>(of_stacks) /
                                                     static_cast<double>(stacks) *
                                                     static_cast<double>(processes);
        // Marks are read before and after the stacks; and it sleeps half of the time.
        constexpr double kSafety = 1.25;
        expected_ = std::chrono::nanoseconds(
            std::llround(kSafety * 2 * (2 * static_cast<double>(of_marks) + of_all_stacks)));
        return {};
    }

    /// One reading of all processes. After each batch it sleeps as long as that took: at most half
    /// of one processor is used.
    Result<void> each_batch(const std::function<Result<void>(Batch)>& batch) {
        unmoved_.begin();
        ++report_.readings;
        ASSIGN_OR_RETURN(auto table, beam::IdTable::processes(node_.vm()));
        for (std::uint32_t first = 0; first < table.slots(); first += kTableSlots) {
            const auto began = Clock::now();
            ASSIGN_OR_RETURN(const auto used, table.used(first, kTableSlots));
            if (ends_by_ && began > *ends_by_) {
                return fail(
                    ErrorCode::kLimit,
                    fmt::format("reading the stacks of all processes took longer than {:.1f} "
                                "s, which is too long for one answer: {} of {} places of "
                                "the table were read",
                                std::chrono::duration<double>(longest()).count(), first,
                                table.slots()));
            }
            for (std::size_t at = 0; at < used.size(); at += kBatch) {
                RETURN_IF_ERROR(batch(Batch(used).subspan(at, std::min(kBatch, used.size() - at))));
            }
            std::this_thread::sleep_for(Clock::now() - began);
        }
        return {};
    }

    Result<void> follow(Batch slots) {
        const auto now = target::clock_ns(CLOCK_MONOTONIC);
        ASSIGN_OR_RETURN(const auto marks, unmoved_.read(slots));
        for (std::size_t at = 0; at < slots.size(); ++at) {
            unmoved_.see(slots[at].slot, marks[at], now);
        }
        return {};
    }

    /// Stacks of a batch. A process that has the same mark before and after its stack was read
    /// has been there since it was first seen with that mark.
    Result<void> take(Batch slots) {
        RETURN_IF_ERROR(follow(slots));
        std::vector<StackTry> found;
        for (const auto& slot : slots) {
            ASSIGN_OR_RETURN(auto one, stacks_.at_rest(slot, false));
            // What has just been running or sent to: as a rule it is over at once.
            for (int again = 0; again < kTries && repeatable(one.miss); ++again) {
                std::this_thread::sleep_for(kBetweenTries);
                ASSIGN_OR_RETURN(one, stacks_.at_rest(slot, false));
            }
            found.push_back(std::move(one));
        }
        const auto now = target::clock_ns(CLOCK_MONOTONIC);
        ASSIGN_OR_RETURN(const auto marks, unmoved_.read(slots));
        for (std::size_t at = 0; at < slots.size(); ++at) {
            const auto since =
                marks[at] ? unmoved_.since(slots[at].slot, *marks[at]) : std::nullopt;
            count(found[at], since, now);
        }
        return {};
    }

    static bool repeatable(StackMiss miss) {
        return miss == StackMiss::kLocked || miss == StackMiss::kChanged ||
               miss == StackMiss::kTorn;
    }

    void count(const StackTry& found, std::optional<std::int64_t> since, std::int64_t now) {
        if (!found.stack) {
            if (found.miss == StackMiss::kRunning) {
                ++report_.not_waiting["running"];
            } else if (found.miss == StackMiss::kCollecting) {
                ++report_.not_waiting["garbage_collecting"];
            } else if (found.miss != StackMiss::kExiting) {
                ++report_.missed[found.miss];
            }
            return;
        }
        const auto& stack = *found.stack;
        if (stack.process.status != "waiting") {
            ++report_.not_waiting[stack.process.status];
            return;
        }
        if (report_.stacks.bytes() >= kMostBytesOfStacks) {
            ++report_.left_out;
            return;
        }
        std::vector<std::uint32_t> places;
        // Further callers and the group come after.
        places.reserve(stack.frames.size() + 2);
        for (const auto& frame : stack.frames) {
            places.push_back(report_.stacks.place({.function = frame}));
        }
        if (stack.more) {
            places.push_back(report_.stacks.place({.function = std::string(kFurtherCallers)}));
        }
        if (options_.by != SamplesBy::kNone) {
            places.push_back(
                report_.stacks.place({.function = process_group(options_.by, stack.process)}));
        }
        const auto waited = since ? now - *since : 0;
        const bool since_first = since && *since <= first_ended_ns_;
        const auto node = report_.stacks.add(places, 1);
        report_.by_stack[node].add(waited, since_first);
        report_.by_function[stack.frames.front()].add(waited, since_first);
    }

    /// How long the last reading may take.
    [[nodiscard]] Clock::duration longest() const {
        return expected_ + std::max<Clock::duration>(kSpare, expected_);
    }

    static constexpr int kTries = 20;
    static constexpr std::chrono::microseconds kBetweenTries{200};

    ObservedNode& node_;
    ProcessStacks& stacks_;
    Unmoved& unmoved_;
    const WaitsOptions& options_;
    const std::atomic<bool>& cancelled_;
    WaitsReport& report_;
    std::int64_t first_ended_ns_ = 0;
    Clock::duration expected_{};  // of the last reading
    std::optional<Clock::time_point> ends_by_;
};

}  // namespace

void WaitCount::add(std::int64_t waited_ns, bool since_first) {
    shortest_ns = waiting == 0 ? waited_ns : std::min(shortest_ns, waited_ns);
    longest_ns = std::max(longest_ns, waited_ns);
    ++waiting;
    not_run += since_first ? 1 : 0;
}

Result<WaitsReport> collect_waits(ObservedNode& node, const WaitsOptions& options,
                                  const std::atomic<bool>& cancelled) {
    WaitsReport report{.node = node.name(),
                       .otp_release = node.vm().facts().otp_release,
                       .pid = node.vm().target().pid(),
                       .began_us = target::clock_ns(CLOCK_REALTIME) / 1000,
                       .by = options.by};
    if (node.doubt()) {
        report.remarks.push_back(*node.doubt());
    }
    const auto began = target::clock_ns(CLOCK_MONOTONIC);
    const auto used = target::clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    ASSIGN_OR_RETURN(auto stacks, ProcessStacks::open(node, options.frames));
    ASSIGN_OR_RETURN(auto unmoved, Unmoved::open(node));
    RETURN_IF_ERROR(Waits(node, stacks, unmoved, options, cancelled, report).run());
    report.took_ns = target::clock_ns(CLOCK_MONOTONIC) - began;
    report.processor_ns = target::clock_ns(CLOCK_PROCESS_CPUTIME_ID) - used;
    return report;
}

}  // namespace beamdump::sampler
