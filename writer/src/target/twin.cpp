#include "target/twin.h"

#include "target/clock.h"
#include "target/injection.h"
#include "target/injection_ptrace.h"
#include "target/twin_needs.h"

#include <libdump/base/descriptor.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace beamdump::target {
namespace {

// The kernel frees a large twin's page tables first.
constexpr std::int64_t kGoneDeadlineNs = 30'000'000'000;

/// When memory runs out, the kernel ends this process first. Best effort: not every sandbox lets
/// us.
void be_first_to_go(std::string_view process) {
    const Descriptor file(
        ::open(fmt::format("/proc/{}/oom_score_adj", process).c_str(), O_WRONLY | O_CLOEXEC));
    constexpr std::string_view kFirst = "1000";
    [[maybe_unused]] const auto done = ::write(file.get(), kFirst.data(), kFirst.size());
}

/// Whether a process or thread is still in the process table; a zombie is.
bool listed(const ProcDirectory& process) {
    return process.pid() != 0 && process.read("stat").has_value();
}

/// What is known of the one stop in which a twin was made.
struct TwinStop {
    StopCost cost;
    std::vector<ThreadRegisters> registers;
};

Result<BornTwin> inject(pid_t node, Injection& injection, const std::optional<Settling>& settling,
                        TwinStop& known) {
    auto stop = ThreadStop::stop(node);
    if (!stop) {
        return std::unexpected(stop.error());
    }
    if (settling) {
        auto settled = settle(*stop, *settling);
        if (!settled) {
            return std::unexpected(settled.error());
        }
        known.registers = std::move(*settled);
    }
    if (auto planted = injection.plant(*stop); !planted) {
        return std::unexpected(planted.error());
    }
    auto born = injection.run();
    if (born) {
        ::ptrace(PTRACE_DETACH, born->reaper, nullptr, nullptr);
    }
    known.cost = stop->resume();
    return born;
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
    auto directory = ProcDirectory::open(node);
    if (!directory) {
        return std::unexpected(directory.error());
    }
    const auto facts = directory->facts();
    if (!facts) {
        return std::unexpected(facts.error());
    }
    if (facts->dead()) {
        return fail(ErrorCode::kTargetDied, fmt::format("process {} has exited", node));
    }
    if (facts->state == 'T') {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("process {} is stopped by a signal, and a stopped process cannot "
                                "make a twin: freezing it costs nothing",
                                node));
    }
    const auto status = directory->read("status");
    auto node_room = HeadRoom::of(node);
    auto own_room = HeadRoom::of(::getpid());
    if (!status || !node_room || !own_room) {
        return std::unexpected(!status      ? status.error()
                               : !node_room ? node_room.error()
                                            : own_room.error());
    }
    const auto needs = twin_needs(*status, limits);
    if (!needs) {
        return std::unexpected(needs.error());
    }
    if (auto enough = check_needs(*needs, *node_room, *own_room, limits.own_bytes); !enough) {
        return std::unexpected(enough.error());
    }
    auto injection =
        Injection::prepare(node, limits.threads.empty() ? borrowable_threads() : limits.threads);
    if (!injection) {
        return std::unexpected(injection.error());
    }
    return Preparation{std::move(*directory), std::move(*node_room), std::move(*own_room), *needs,
                       std::move(*injection)};
}

/// From here on the twin ends with us, even before it could do so by itself.
Result<void> hold_at_birth(pid_t twin) {
    if (auto born = await_birth(twin); !born) {
        return born;
    }
    be_first_to_go(fmt::to_string(twin));
    // NOLINTNEXTLINE(performance-no-int-to-ptr): ptrace takes the options so.
    auto* const options = reinterpret_cast<void*>(static_cast<std::uintptr_t>(PTRACE_O_EXITKILL));
    if (::ptrace(PTRACE_SETOPTIONS, twin, nullptr, options) != 0) {
        return fail(ErrorCode::kTargetDied, fmt::format("the twin {} was killed", twin));
    }
    return {};
}

}  // namespace

Result<TwinNeeds> Twin::foresee(pid_t node, const TwinLimits& limits) {
    const auto preparation = prepare(node, limits);
    return preparation ? Result<TwinNeeds>(preparation->needs)
                       : std::unexpected(preparation.error());
}

Result<Twin> Twin::make(pid_t node, const TwinLimits& limits,
                        const std::optional<Settling>& settling) {
    auto preparation = prepare(node, limits);
    if (!preparation) {
        return std::unexpected(preparation.error());
    }
    Twin twin;
    twin.node_ = std::move(preparation->node);
    be_first_to_go("self");
    TwinStop stop;
    const auto born = inject(node, preparation->injection, settling, stop);
    twin.stop_cost_ = stop.cost;
    twin.registers_ = std::move(stop.registers);
    if (!born) {
        return std::unexpected(born.error());
    }
    twin.here_ = true;
    twin.pid_ = born->twin;
    twin.fork_ns_ = born->fork_ns;
    if (auto held = hold_at_birth(born->twin); !held) {
        return std::unexpected(held.error());
    }
    twin.watcher_ = std::make_unique<TwinWatcher>(
        node, born->twin,
        TwinFloor{std::move(preparation->node_room), std::move(preparation->own_room),
                  limits.floor_bytes.value_or(preparation->needs.copied_bytes / 4)});
    auto twin_directory = ProcDirectory::open(born->twin);
    auto reaper_directory = ProcDirectory::open(born->reaper);
    if (!twin_directory || !reaper_directory) {
        return fail(ErrorCode::kTargetDied,
                    fmt::format("process {} exited when its twin was made", node));
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
    [[maybe_unused]] const auto removed = remove();
}

Result<void> Twin::check() {
    const auto node = node_.facts();
    if (!node || node->dead()) {
        return fail(ErrorCode::kTargetDied, fmt::format("process {} has exited", node_.pid()));
    }
    if (auto enough = watcher_ ? watcher_->verdict() : Result<void>(); !enough) {
        return enough;
    }
    const auto twin = twin_.facts();
    if (!here_ || !twin || twin->dead()) {
        return fail(ErrorCode::kTargetDied,
                    fmt::format("the twin {} of process {} has been killed (when memory runs out, "
                                "the kernel ends it first)",
                                pid_, node_.pid()));
    }
    return {};
}

Result<void> Twin::remove() {
    if (!std::exchange(here_, false)) {
        return {};
    }
    watcher_.reset();
    ::kill(pid_, SIGKILL);
    const auto deadline = clock_ns(CLOCK_MONOTONIC) + kGoneDeadlineNs;
    long pause_ns = 20'000;
    bool reaped = false;
    while (true) {
        int status = 0;
        // As its tracer we are told of its end first, and its reaper once we know.
        const pid_t got = reaped ? 0 : ::waitpid(pid_, &status, __WALL | WNOHANG);
        reaped = reaped || (got == pid_ && !WIFSTOPPED(status)) || (got < 0 && errno == ECHILD);
        if (reaped && !listed(twin_) && !listed(reaper_)) {
            return {};
        }
        if (clock_ns(CLOCK_MONOTONIC) > deadline) {
            return fail(
                ErrorCode::kLimit,
                fmt::format("the twin {} of process {} was killed, but is not gone after "
                            "{} seconds: its reaper, thread {}, does not run",
                            pid_, node_.pid(), kGoneDeadlineNs / 1'000'000'000, reaper_.pid()));
        }
        const timespec time{0, pause_ns};
        ::nanosleep(&time, nullptr);
        pause_ns = std::min(pause_ns * 2, 2'000'000L);
    }
}

}  // namespace beamdump::target
