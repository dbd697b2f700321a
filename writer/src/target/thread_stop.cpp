#include "target/thread_stop.h"

#include "target/access.h"
#include "target/clock.h"
#include "target/proc_directory.h"

#include <libdump/base/system_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <span>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <utility>

namespace beamdump::target {
namespace {

constexpr std::int64_t kStopDeadlineNs = 2'000'000'000;
constexpr std::int64_t kDetachDeadlineNs = 500'000'000;
/// A running thread that is interrupted stops within this if a processor is free for it.
constexpr std::int64_t kSoonNs = 50'000;
// Threads that are stopped make no others, so a few passes are enough for any sane target.
constexpr int kMostPasses = 100;

/// Waits a little, the longer the more often it was called: most threads stop within microseconds.
class Patience {
  public:
    void wait() {
        const timespec time{0, pause_ns_};
        ::nanosleep(&time, nullptr);
        pause_ns_ = std::min(pause_ns_ * 2, 1'000'000L);
    }

  private:
    long pause_ns_ = 10'000;
};

/// Without giving up the processor: until the time is up, or what is waited for.
void busy_for(std::int64_t ns, const std::function<bool()>& done) {
    const auto end = clock_ns(CLOCK_MONOTONIC) + ns;
    while (!done() && clock_ns(CLOCK_MONOTONIC) < end) {
    }
}

Result<std::vector<pid_t>> list_threads(pid_t pid) {
    std::vector<pid_t> threads;
    std::error_code error;
    std::filesystem::directory_iterator entry(fmt::format("/proc/{}/task", pid), error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
        const auto name = entry->path().filename().native();
        pid_t thread = 0;
        std::from_chars(name.data(), name.data() + name.size(), thread);
        if (thread > 0) {
            threads.push_back(thread);
        }
    }
    if (threads.empty() && ::kill(pid, 0) != 0 && errno == ESRCH) {
        return fail(ErrorCode::kNotFound, fmt::format("there is no process {}", pid));
    }
    if (error) {
        return fail(ErrorCode::kTargetDied, fmt::format("process {} has exited", pid));
    }
    return threads;
}

/// Whether a thread exists that could still run.
bool runnable(pid_t thread) {
    const auto facts = process_facts(thread);
    return facts && !facts->dead();
}

/// The error of a thread that the kernel does not let us seize.
std::unexpected<Error> seize_denied(pid_t pid, pid_t thread) {
    const auto directory = ProcDirectory::open(thread);
    if (!directory) {
        return std::unexpected(directory.error());
    }
    auto facts = access_facts(*directory);
    facts.pid = pid;
    return fail(ErrorCode::kPermission, explain_denied(facts));
}

}  // namespace

Result<ThreadStop> ThreadStop::stop(pid_t pid) {
    ThreadStop stop(pid);
    stop.stopped_ = true;  // from here on the destructor resumes
    if (auto done = stop.stop_all(); !done) {
        return std::unexpected(done.error());
    }
    return stop;
}

/// Stops what is not stopped yet, until there is nothing new.
Result<void> ThreadStop::stop_all() {
    for (int pass = 0; pass < kMostPasses; ++pass) {
        const auto first = threads_.size();
        if (auto seized = seize_threads(); !seized) {
            return seized;
        }
        if (threads_.size() == first) {
            if (threads_.empty()) {
                return fail(ErrorCode::kTargetDied, fmt::format("process {} has exited", pid_));
            }
            return {};
        }
        if (begin_ns_ == 0) {
            begin_ns_ = clock_ns(CLOCK_MONOTONIC);
        }
        for (const auto thread : std::span(threads_).subspan(first)) {
            // A thread that is gone shows when it is waited for.
            ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
        }
        if (auto stopped = await_stops(); !stopped) {
            return stopped;
        }
    }
    return fail(ErrorCode::kLimit,
                fmt::format("process {} makes threads faster than they can be stopped", pid_));
}

Result<void> ThreadStop::run_on(std::span<const pid_t> threads, std::chrono::nanoseconds moment) {
    if (std::ranges::any_of(states_, &State::group)) {
        return {};
    }
    std::vector<pid_t> running;
    for (const auto thread : threads) {
        if (at_rest(thread) && ::ptrace(PTRACE_CONT, thread, nullptr, nullptr) == 0) {
            states_[index_of(thread)].stopped = false;
            running.push_back(thread);
        }
    }
    if (running.empty()) {
        return {};
    }
    // Shorter than any sleep.
    busy_for(moment.count(), [] { return false; });
    for (const auto thread : running) {
        ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
    }
    busy_for(kSoonNs, [&] {
        return std::ranges::all_of(running, [&](pid_t thread) {
            const auto index = index_of(thread);
            if (!states_[index].stopped && !states_[index].ended) {
                look_at(index);
            }
            return states_[index].stopped;
        });
    });
    if (auto stopped = await_stops(); !stopped) {
        return stopped;
    }
    return stop_all();
}

/// Seizes every thread that is not yet; those that are about to end are left out.
Result<void> ThreadStop::seize_threads() {
    const auto listed = list_threads(pid_);
    if (!listed) {
        return std::unexpected(listed.error());
    }
    for (const auto thread : *listed) {
        if (std::ranges::find(threads_, thread) != threads_.end()) {
            continue;
        }
        if (::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) == 0) {
            threads_.push_back(thread);
            states_.emplace_back();
            continue;
        }
        const int error = errno;
        if (error == ESRCH || !runnable(thread)) {
            continue;
        }
        if (error == EPERM || error == EACCES) {
            return seize_denied(pid_, thread);
        }
        return fail(ErrorCode::kIo, fmt::format("cannot stop thread {} of process {}: {}", thread,
                                                pid_, system_error_text(error)));
    }
    return {};
}

/// Looks once whether a thread has stopped or ended.
void ThreadStop::look_at(std::size_t index) {
    State& state = states_[index];
    int status = 0;
    const pid_t got = ::waitpid(threads_[index], &status, __WALL | WNOHANG);
    const bool unknown = got < 0 && errno == ECHILD;
    if (unknown || (got > 0 && !WIFSTOPPED(status))) {
        state.ended = true;
    } else if (got > 0) {
        state.stopped = true;
        // An event stop (interrupted, or the process is under SIGSTOP) holds no signal back. In any
        // other stop a signal is on its way to the thread.
        const bool event = status >> 16 != 0;
        state.signal = event ? 0 : WSTOPSIG(status);
        state.group = event && WSTOPSIG(status) != SIGTRAP;
    }
}

void ThreadStop::forget_if(const std::function<bool(std::size_t)>& done) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
        if (!done(i)) {
            threads_[kept] = threads_[i];
            states_[kept] = states_[i];
            ++kept;
        }
    }
    threads_.resize(kept);
    states_.resize(kept);
}

/// Waits until every seized thread stands or has ended.
Result<void> ThreadStop::await_stops() {
    const auto deadline = clock_ns(CLOCK_MONOTONIC) + kStopDeadlineNs;
    Patience patience;
    while (true) {
        bool leader_ended = false;
        for (std::size_t i = 0; i < threads_.size(); ++i) {
            if (!states_[i].stopped) {
                look_at(i);
                leader_ended = leader_ended || (states_[i].ended && threads_[i] == pid_);
            }
        }
        forget_if([&](std::size_t i) { return states_[i].ended; });
        if (leader_ended) {
            return fail(ErrorCode::kTargetDied, fmt::format("process {} has exited", pid_));
        }
        const auto waiting = std::ranges::find(states_, false, &State::stopped);
        if (waiting == states_.end()) {
            return {};
        }
        if (clock_ns(CLOCK_MONOTONIC) > deadline) {
            const auto thread = threads_[static_cast<std::size_t>(waiting - states_.begin())];
            return fail(ErrorCode::kLimit,
                        fmt::format("thread {} of process {} did not stop within two seconds: it "
                                    "hangs in the kernel (look at /proc/{}/stack)",
                                    thread, pid_, thread));
        }
        patience.wait();
    }
}

/// Detaches from every thread, and reaps those that were killed meanwhile, so that their parent
/// sees their end.
void ThreadStop::detach_all() {
    const auto deadline = clock_ns(CLOCK_MONOTONIC) + kDetachDeadlineNs;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
        // Only a stopped thread can be detached from; after a failure some still run.
        if (!states_[i].stopped) {
            ::ptrace(PTRACE_INTERRUPT, threads_[i], nullptr, nullptr);
        }
    }
    Patience patience;
    while (true) {
        forget_if([&](std::size_t i) {
            if (!states_[i].stopped) {
                look_at(i);
            }
            if (!states_[i].stopped || states_[i].ended) {
                return states_[i].ended;
            }
            // NOLINTNEXTLINE(performance-no-int-to-ptr): ptrace takes the signal as a pointer.
            auto* signal = reinterpret_cast<void*>(static_cast<std::intptr_t>(states_[i].signal));
            const bool detached = ::ptrace(PTRACE_DETACH, threads_[i], nullptr, signal) == 0;
            states_[i].stopped = detached;  // where it failed the thread was killed: it ends soon
            return detached;
        });
        if (threads_.empty() || clock_ns(CLOCK_MONOTONIC) > deadline) {
            return;
        }
        patience.wait();
    }
}

ThreadStop::ThreadStop(ThreadStop&& other) noexcept
    : pid_(other.pid_),
      threads_(std::move(other.threads_)),
      states_(std::move(other.states_)),
      begin_ns_(other.begin_ns_),
      stopped_(std::exchange(other.stopped_, false)) {}

ThreadStop::~ThreadStop() {
    resume();
}

bool ThreadStop::at_rest(pid_t thread) const {
    const auto index = index_of(thread);
    return index < threads_.size() && states_[index].stopped && states_[index].signal == 0;
}

/// Beyond the last where it is none of them.
std::size_t ThreadStop::index_of(pid_t thread) const {
    return static_cast<std::size_t>(std::ranges::find(threads_, thread) - threads_.begin());
}

StopCost ThreadStop::resume() {
    if (!std::exchange(stopped_, false)) {
        return {};
    }
    StopCost cost;
    cost.begin_monotonic_ns = begin_ns_;
    cost.threads = static_cast<std::uint32_t>(threads_.size());
    detach_all();
    cost.length_ns = begin_ns_ == 0 ? 0 : clock_ns(CLOCK_MONOTONIC) - begin_ns_;
    return cost;
}

}  // namespace beamdump::target
