#include "target/twin/injection_threads.h"

#include "target/process/clock.h"
#include "target/process/thread_status.h"
#include "target/process/threads_of.h"

#include <libdump/base/return_if_error.h>

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

std::string status_of(pid_t id) {
    std::ifstream file(fmt::format("/proc/{}/status", id));
    return {std::istreambuf_iterator<char>(file), {}};
}

/// A process's threads and their children that are traced by this thread.
Result<std::vector<pid_t>> traced_by_us(pid_t pid) {
    ASSIGN_OR_RETURN(const auto threads, threads_of(pid));
    const auto us = fmt::format("\t{}", ::gettid());
    std::vector<pid_t> traced;
    const auto add_if_traced = [&](pid_t thread) {
        if (status_text(status_of(thread), "TracerPid") == us) {
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

std::string_view status_text(std::string_view status, std::string_view name) {
    const auto at = status.find(fmt::format("\n{}:", name));
    if (at == std::string_view::npos) {
        return {};
    }
    const auto rest = status.substr(at + name.size() + 2);
    return rest.substr(0, rest.find('\n'));
}

Seccomp seccomp_of(pid_t thread) {
    const auto status = status_of(thread);
    const auto mode = status_text(status, "Seccomp");
    if (mode.empty()) {
        return Seccomp::kNone;  // a kernel without it
    }
    return mode.back() == '1'   ? Seccomp::kStrict
           : mode.back() == '0' ? Seccomp::kNone
                                : Seccomp::kFiltered;
}

Result<Seccomp> strictest_seccomp(pid_t pid) {
    ASSIGN_OR_RETURN(const auto threads, threads_of(pid));
    auto strictest = Seccomp::kNone;
    for (const auto thread : threads) {
        strictest = std::max(strictest, seccomp_of(thread));
    }
    return strictest;
}

bool release_traced(pid_t pid) {
    const auto deadline = clock_ns(CLOCK_MONOTONIC) + kLetGoDeadlineNs;
    while (true) {
        const auto traced = traced_by_us(pid);
        // Of a process that is gone there is nothing to let go.
        bool all = traced || traced.error().code == ErrorCode::kNotFound ||
                   traced.error().code == ErrorCode::kTargetDied;
        for (const auto made : traced.value_or(std::vector<pid_t>())) {
            const auto look = thread_status(made);
            all = (look.ended() || (look.stopped() && detach(made, look))) && all;
        }
        if (all || clock_ns(CLOCK_MONOTONIC) > deadline) {
            return all;
        }
        const timespec time{0, kLetGoPauseNs};
        ::nanosleep(&time, nullptr);
    }
}

}  // namespace beamdump::target
