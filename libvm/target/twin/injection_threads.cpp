#include <libdump/base/return_if_error.h>
#include <libvm/target/process/clock.h>
#include <libvm/target/process/proc_lines.h>
#include <libvm/target/process/threads.h>
#include <libvm/target/stop/patience.h>
#include <libvm/target/twin/injection_threads.h>

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace beamdump::target {
namespace {

constexpr std::int64_t kLetGoDeadlineNs = 2'000'000'000;
constexpr long kLetGoPauseNs = 1'000'000;
// However late it is then: the machine may have stood still meanwhile.
constexpr int kLeastLooks = 100;
// The kernel frees a twin's page tables before it is gone; on a busy machine that takes its time.
constexpr std::int64_t kMadeGoneDeadlineNs = 10'000'000'000;

std::string status_of(pid_t id) {
    std::ifstream file(fmt::format("/proc/{}/status", id));
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The first child of a process's thread; 0: it has none.
pid_t child_of(pid_t pid, pid_t thread) {
    std::ifstream children(fmt::format("/proc/{}/task/{}/children", pid, thread));
    pid_t child = 0;
    return children >> child ? child : 0;
}

/// The process that holds a twin; 0: nobody does, so that it ends by itself.
pid_t holder_of(pid_t twin) {
    const auto facts = process_facts(twin);
    if (!facts || facts->dead() || facts->tracer == 0) {
        return 0;
    }
    const auto tracer = process_facts(facts->tracer);
    return tracer ? tracer->thread_group : facts->tracer;
}

std::unexpected<Error> held_twin(pid_t pid, pid_t twin, pid_t holder) {
    return fail(ErrorCode::kExists,
                fmt::format("process {} already has a twin (process {}, held by process {}): wait "
                            "until that capture has ended",
                            pid, twin, holder));
}

/// A process's threads and their children that are traced by this thread.
Result<std::vector<pid_t>> traced_by_us(pid_t pid) {
    ASSIGN_OR_RETURN(const auto threads, threads_of(pid));
    const auto us = static_cast<std::uint64_t>(::gettid());
    std::vector<pid_t> traced;
    const auto add_if_traced = [&](pid_t thread) {
        if (listed_number(status_of(thread), "TracerPid") == us) {
            traced.push_back(thread);
        }
    };
    for (const auto thread : threads) {
        add_if_traced(thread);
        std::ifstream children(fmt::format("/proc/{}/task/{}/children", pid, thread));
        for (pid_t child = 0; children >> child;) {
            add_if_traced(child);
        }
    }
    return traced;
}

}  // namespace

Seccomp seccomp_of(pid_t thread) {
    const auto status = status_of(thread);
    const auto mode = listed_text(status, "Seccomp");
    if (!mode) {
        return Seccomp::kNone;  // a kernel without it
    }
    return *mode == "1" ? Seccomp::kStrict : *mode == "0" ? Seccomp::kNone : Seccomp::kFiltered;
}

Result<Seccomp> strictest_seccomp(pid_t pid) {
    ASSIGN_OR_RETURN(const auto threads, threads_of(pid));
    auto strictest = Seccomp::kNone;
    for (const auto thread : threads) {
        strictest = std::max(strictest, seccomp_of(thread));
    }
    return strictest;
}

bool release_traced(pid_t pid, const std::function<void(pid_t, const ThreadStatus&)>& before) {
    const auto deadline = clock_ns(CLOCK_MONOTONIC) + kLetGoDeadlineNs;
    for (int looks = 1;; ++looks) {
        const auto traced = traced_by_us(pid);
        // There is nothing to let go of a process that is gone.
        bool all = traced || traced.error().code == ErrorCode::kNotFound ||
                   traced.error().code == ErrorCode::kTargetDied;
        for (const auto made : traced.value_or(std::vector<pid_t>())) {
            const auto look = thread_status(made);
            if (look.stopped()) {
                before(made, look);
            }
            all = (look.ended() || (look.stopped() && detach(made, look))) && all;
        }
        if (all || (looks >= kLeastLooks && clock_ns(CLOCK_MONOTONIC) > deadline)) {
            return all;
        }
        const timespec time{0, kLetGoPauseNs};
        ::nanosleep(&time, nullptr);
    }
}

bool listed(const ProcDirectory& process) {
    return process.pid() != 0 && process.read("stat").has_value();
}

bool await_gone(std::span<const ProcDirectory> made) {
    const auto deadline = clock_ns(CLOCK_MONOTONIC) + kMadeGoneDeadlineNs;
    Patience patience;
    for (int look = 1; std::ranges::any_of(made, listed); ++look) {
        const bool stopped = std::ranges::any_of(made, [](const ProcDirectory& thread) {
            const auto facts = thread.facts();
            return facts && facts->state == 'T';
        });
        if (stopped) {
            return true;
        }
        if (look >= kLeastLooks && clock_ns(CLOCK_MONOTONIC) > deadline) {
            return false;
        }
        patience.wait();
    }
    return true;
}

Result<void> await_no_twin(pid_t pid, std::span<const std::string> threads) {
    const auto deadline = clock_ns(CLOCK_MONOTONIC) + kMadeGoneDeadlineNs;
    Patience patience;
    while (true) {
        pid_t twin = 0;
        ASSIGN_OR_RETURN(const auto all, threads_of(pid));
        for (const auto thread : all) {
            const auto facts = process_facts(thread);
            if (facts && std::ranges::find(threads, facts->name) != threads.end()) {
                twin = std::max(twin, child_of(pid, thread));
            }
        }
        if (twin == 0) {
            return {};
        }
        if (const auto holder = holder_of(twin); holder != 0) {
            return held_twin(pid, twin, holder);
        }
        if (clock_ns(CLOCK_MONOTONIC) > deadline) {
            return fail(ErrorCode::kExists,
                        fmt::format("process {} still has the twin {} of an earlier capture, which "
                                    "has not ended within {} seconds: look at /proc/{}/stack",
                                    pid, twin, kMadeGoneDeadlineNs / 1'000'000'000, twin));
        }
        patience.wait();
    }
}

std::unexpected<Error> twin_of(pid_t pid, pid_t reaper) {
    const auto twin = child_of(pid, reaper);
    const auto holder = twin == 0 ? 0 : holder_of(twin);
    if (holder != 0) {
        return held_twin(pid, twin, holder);
    }
    return fail(ErrorCode::kLimit,
                fmt::format("the twin of an earlier capture of process {} has not ended yet (its "
                            "thread {} waits for that): try again",
                            pid, reaper));
}

}  // namespace beamdump::target
