#include <libdump/base/descriptor.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libvm/target/process/clock.h>
#include <libvm/target/process/threads.h>
#include <libvm/target/stop/patience.h>
#include <libvm/target/stop/raised_priority.h>
#include <libvm/target/stop/timed_stop.h>
#include <libvm/target/twin/injection.h>
#include <libvm/target/twin/injection_ptrace.h>
#include <libvm/target/twin/injection_threads.h>
#include <libvm/target/twin/twin.h>
#include <libvm/target/twin/twin_needs.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace beamdump::target {
namespace {

// A twin runs through two system calls while the node runs on.
constexpr std::int64_t kHeldDeadlineNs = 10'000'000'000;
// The kernel frees a large twin's page tables first.
constexpr std::int64_t kEndDeadlineNs = 30'000'000'000;
// All that is left then is for a thread of the node to notice.
constexpr std::int64_t kGoneDeadlineNs = 2'000'000'000;
// The stop for which no limit is given may take this beside the fork, and the fork so often its
// least time.
constexpr std::chrono::milliseconds kBesideFork{150};
constexpr int kSlowFork = 20;

// Threads between two stores are let run on for so long at most, and no longer than a fork that
// takes so often its least time still fits into the stop.
constexpr std::chrono::milliseconds kLongestRestless{50};
constexpr int kForkThatFits = 2;

// Another stop, in place of this one, is expected to take up to so many times as long before its
// fork.
constexpr int kStopThatFits = 2;

/// When memory runs out, the kernel ends this process first. Best effort: not every sandbox lets
/// us.
void be_first_to_go(std::string_view process) {
    const Descriptor file(
        ::open(fmt::format("/proc/{}/oom_score_adj", process).c_str(), O_WRONLY | O_CLOEXEC));
    constexpr std::string_view kFirst = "1000";
    [[maybe_unused]] const auto done = ::write(file.get(), kFirst.data(), kFirst.size());
}

/// What is known of the one stop in which a twin was made.
struct TwinStop {
    StopCost cost;
    std::vector<ThreadRegisters> registers;
};

/// The time of such a stop.
struct TwinTime {
    std::int64_t begin_ns;     // CLOCK_MONOTONIC
    std::int64_t deadline_ns;  // when the twin has to be there
    std::int64_t fork_ns;      // what a fork that fits takes

    /// Whether another stop has time in place of this one, if it ends now.
    [[nodiscard]] bool has_another(std::int64_t now_ns) const {
        return now_ns + kStopThatFits * (now_ns - begin_ns) + fork_ns < deadline_ns;
    }
};

/// All that happens while the node stands still; ends when the deadline is reached.
Result<NewTwin> make_in(ThreadStop& stop, Injection& injection,
                        const std::optional<Settling>& settling, const TwinTime& time,
                        TwinStop& known) {
    if (settling) {
        ASSIGN_OR_RETURN(auto settled, settle(stop, *settling));
        known.registers = std::move(settled);
    }
    const auto now = clock_ns(CLOCK_MONOTONIC);
    if (now > time.deadline_ns) {
        return fail(ErrorCode::kLimit, "stopping its threads took all the time available");
    }
    if (settling && settling->worth && time.has_another(now) && !settling->worth(known.registers)) {
        return fail(ErrorCode::kChanged, "processes stood where they cannot be captured");
    }
    RETURN_IF_ERROR(injection.write_frames(stop));
    return injection.run(time.deadline_ns);
}

/// All that a node waits for: stops it, has it make a twin, and resumes it.
Result<NewTwin> make_in_stop(pid_t node, Injection& injection,
                             const std::optional<Settling>& settling, const StopTerms& terms,
                             const TwinTime& time, TwinStop& known) {
    const RaisedPriority raised;
    ASSIGN_OR_RETURN(auto stop, ThreadStop::stop(node, terms));
    auto born = make_in(stop, injection, settling, time, known);
    if (born) {
        detach(born->reaper, thread_status(born->reaper));
    }
    known.cost = stop.resume([&](pid_t thread, const ThreadStatus& look) {
        if (!born && thread == injection.borrowed()) {
            injection.call_off(thread, look);
        }
    });
    return born;
}

/// `terms`: how the node is stopped; all of it ends when StopTerms::lasts does.
/// `advice`: what to do where the fork takes too long; empty: nothing.
Result<NewTwin> inject(pid_t node, Injection& injection, const std::optional<Settling>& settling,
                       const StopTerms& terms, std::chrono::nanoseconds fork,
                       std::string_view advice, TwinStop& known) {
    const auto now = clock_ns(CLOCK_MONOTONIC);
    const TwinTime time{now, now + terms.again_within.count(), fork.count()};
    auto born = make_in_stop(node, injection, settling, terms, time, known);
    if (born) {
        return born;
    }
    const bool hangs = !injection.let_go();
    if (known.cost.begin_monotonic_ns + known.cost.length_ns <= time.deadline_ns) {
        return std::unexpected(born.error());
    }
    auto why = fmt::format(
        "making a twin of process {} was abandoned after {} ms, the limit for that stop: {}", node,
        terms.lasts.count() / 1'000'000, born.error().message);
    if (hangs) {
        why += ", and it still hangs in it";
    } else if (!advice.empty()) {
        why += fmt::format(" (the kernel's fork may take {} ms: {})", fork.count() / 1'000'000,
                           advice);
    }
    return fail(hangs ? ErrorCode::kUnsupported : born.error().code, std::move(why));
}

/// All that can be found out before anything is stopped.
struct Preparation {
    ProcDirectory node;
    HeadRoom node_room;
    HeadRoom own_room;
    TwinNeeds needs;
    Injection injection;
};

Result<Preparation> prepare(pid_t node, const TwinLimits& limits) {
    ASSIGN_OR_RETURN(auto directory, ProcDirectory::open(node));
    ASSIGN_OR_RETURN(const auto facts, directory.facts());
    if (facts.dead()) {
        return fail(ErrorCode::kTargetDied, fmt::format("process {} has exited", node));
    }
    if (facts.state == 'T') {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("process {} is stopped by a signal, and a stopped process cannot "
                                "make a twin: use mode freeze, which has no further effect on it",
                                node));
    }
    // Permission to read a process does not include killing it or its twin.
    if (::kill(node, 0) != 0 && errno == EPERM) {
        return fail(ErrorCode::kPermission,
                    fmt::format("this program may read process {}, but may not kill a twin of it: "
                                "run it as the node's user, as root, or with CAP_KILL",
                                node));
    }
    ASSIGN_OR_RETURN(const auto status, directory.read("status"));
    ASSIGN_OR_RETURN(auto node_room, HeadRoom::of(node));
    ASSIGN_OR_RETURN(auto own_room, HeadRoom::of(::getpid()));
    ASSIGN_OR_RETURN(const auto needs, twin_needs(status, limits));
    RETURN_IF_ERROR(check_needs(needs, node_room, own_room, limits.own_bytes));
    if (limits.longest_stop && needs.least_fork > *limits.longest_stop) {
        return fail(ErrorCode::kLimit,
                    fmt::format("the kernel needs {} ms or more to fork process {}, and stops are "
                                "limited to {} ms: {}",
                                needs.least_fork.count() / 1'000'000, node,
                                limits.longest_stop->count() / 1'000'000, limits.advice));
    }
    ASSIGN_OR_RETURN(
        auto injection,
        Injection::prepare(node, limits.threads.empty() ? borrowable_threads() : limits.threads,
                           limits.filtered_too));
    return Preparation{std::move(directory), std::move(node_room), std::move(own_room), needs,
                       std::move(injection)};
}

/// From here on the twin ends with us, even before it could do so by itself; and with the node,
/// whatever we do then.
Result<void> hold_at_start(pid_t twin, bool filtered) {
    const auto deadline_ns = clock_ns(CLOCK_MONOTONIC) + kHeldDeadlineNs;
    RETURN_IF_ERROR(await_start(twin, deadline_ns));
    be_first_to_go(fmt::to_string(twin));
    // NOLINTNEXTLINE(performance-no-int-to-ptr): ptrace takes the options so.
    auto* const options = reinterpret_cast<void*>(
        static_cast<std::uintptr_t>(PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD));
    if (::ptrace(PTRACE_SETOPTIONS, twin, nullptr, options) != 0) {
        return fail(ErrorCode::kTargetDied, fmt::format("the twin {} was killed", twin));
    }
    return filtered ? Result<void>() : run_through_call(twin, SYS_prctl, deadline_ns);
}

/// Waits until a twin that was killed has ended: its memory is given back then.
Result<void> await_end(pid_t twin) {
    const auto deadline = clock_ns(CLOCK_MONOTONIC) + kEndDeadlineNs;
    Patience patience;
    while (!thread_status(twin).ended()) {
        if (clock_ns(CLOCK_MONOTONIC) > deadline) {
            return fail(ErrorCode::kLimit,
                        fmt::format("the twin {} was killed, but has not ended after {} seconds: "
                                    "it hangs in the kernel (look at /proc/{}/stack)",
                                    twin, kEndDeadlineNs / 1'000'000'000, twin));
        }
        patience.wait();
    }
    return {};
}

}  // namespace

Result<TwinNeeds> Twin::estimate_needs(pid_t node, const TwinLimits& limits) {
    const auto preparation = prepare(node, limits);
    return preparation ? Result<TwinNeeds>(preparation->needs)
                       : std::unexpected(preparation.error());
}

std::chrono::nanoseconds Twin::longest_stop(const TwinNeeds& needs, const TwinLimits& limits) {
    return limits.longest_stop.value_or(kBesideFork + kSlowFork * needs.least_fork);
}

Result<Twin> Twin::make(pid_t node, const TwinLimits& limits, std::optional<Settling> settling) {
    ASSIGN_OR_RETURN(auto preparation, prepare(node, limits));
    Twin twin;
    twin.node_ = std::move(preparation.node);
    be_first_to_go("self");
    TwinStop stop;
    const auto longest = longest_stop(preparation.needs, limits);
    const auto fork = kForkThatFits * preparation.needs.least_fork;
    const StopTerms terms{
        .within = limits.longest_stop ? stand_within(longest) : StopTerms().within,
        .again_within = longest - resume_margin(longest),
        .lasts = longest,
        .stops = limits.stops};
    if (settling) {
        settling->longest_restless =
            std::min<std::chrono::nanoseconds>(kLongestRestless, terms.again_within - fork);
    }
    const auto born =
        inject(node, preparation.injection, settling, terms, fork,
               limits.longest_stop && fork > *limits.longest_stop ? limits.advice : "", stop);
    if (!born) {
        return std::unexpected(born.error());
    }
    twin.stop_cost_ = stop.cost;
    twin.registers_ = std::move(stop.registers);
    twin.here_ = true;
    twin.pid_ = born->twin;
    twin.fork_ns_ = born->fork_ns;
    RETURN_IF_ERROR(hold_at_start(born->twin, preparation.injection.filtered()));
    try {
        twin.watcher_ = std::make_unique<TwinWatcher>(
            node, born->twin,
            TwinFloor{std::move(preparation.node_room), std::move(preparation.own_room),
                      limits.floor_bytes.value_or(preparation.needs.copied_bytes / 4)});
    } catch (const std::system_error& failure) {
        return std::unexpected(error_of(failure));
    }
    auto twin_directory = ProcDirectory::open(born->twin);
    auto reaper_directory = ProcDirectory::open(born->reaper);
    if (!twin_directory || !reaper_directory) {
        return fail(ErrorCode::kTargetDied, fmt::format("process {} has exited", node));
    }
    twin.twin_ = std::move(*twin_directory);
    twin.reaper_ = std::move(*reaper_directory);
    return twin;
}

Twin::Twin(Twin&& other) noexcept
    : pid_(other.pid_),
      node_(std::move(other.node_)),
      twin_(std::move(other.twin_)),
      reaper_(std::move(other.reaper_)),
      watcher_(std::move(other.watcher_)),
      stop_cost_(other.stop_cost_),
      registers_(std::move(other.registers_)),
      fork_ns_(other.fork_ns_),
      here_(std::exchange(other.here_, false)) {}

Twin::~Twin() {
    [[maybe_unused]] const auto remains = remove();
}

Result<void> Twin::check() {
    const auto node = node_.facts();
    if (!node || node->dead()) {
        return fail(ErrorCode::kTargetDied, fmt::format("process {} has exited", node_.pid()));
    }
    if (watcher_) {
        RETURN_IF_ERROR(watcher_->verdict());
    }
    const auto twin = twin_.facts();
    if (!here_ || !twin || twin->dead()) {
        return fail(ErrorCode::kTargetDied,
                    fmt::format("the twin {} of process {} was killed (when memory runs out, the "
                                "kernel kills it first)",
                                pid_, node_.pid()));
    }
    return {};
}

Result<Twin::Remains> Twin::remove() {
    if (!std::exchange(here_, false)) {
        return Remains::kNone;
    }
    watcher_.reset();
    ::kill(pid_, SIGKILL);
    // As its tracer we are told of its end first, and its reaper once we know.
    RETURN_IF_ERROR(await_end(pid_));
    const auto deadline = clock_ns(CLOCK_MONOTONIC) + kGoneDeadlineNs;
    Patience patience;
    while (listed(twin_) || listed(reaper_)) {
        // One that is stopped, by a signal or by another's trace, reaps when it goes on.
        const auto reaper = reaper_.facts();
        const bool stopped = reaper && (reaper->state == 'T' || reaper->state == 't');
        if (stopped || clock_ns(CLOCK_MONOTONIC) > deadline) {
            return Remains::kUntilNodeGoesOn;
        }
        patience.wait();
    }
    return Remains::kNone;
}

}  // namespace beamdump::target
