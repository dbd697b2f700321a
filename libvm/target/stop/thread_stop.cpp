#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libvm/target/process/access.h>
#include <libvm/target/process/clock.h>
#include <libvm/target/process/proc_directory.h>
#include <libvm/target/process/threads.h>
#include <libvm/target/stop/patience.h>
#include <libvm/target/stop/thread_stop.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <span>
#include <sys/ptrace.h>
#include <thread>
#include <utility>

namespace beamdump::target {
namespace {

constexpr std::int64_t kDetachDeadlineNs = 500'000'000;
// Threads that are stopped make no others, so a few passes are enough for any sane target.
constexpr int kMaxPasses = 100;

/// Whether a thread exists that could still run.
bool runnable(pid_t thread) {
    const auto facts = process_facts(thread);
    return facts && !facts->dead();
}

/// The error of a thread that the kernel does not let us seize.
std::unexpected<Error> seize_denied(pid_t pid, pid_t thread) {
    ASSIGN_OR_RETURN(const auto directory, ProcDirectory::open(thread));
    auto facts = access_facts(directory);
    facts.pid = pid;
    return fail(ErrorCode::kPermission, explain_denied(facts));
}

}  // namespace

bool has_hanging_thread(pid_t pid) {
    const auto threads = threads_of(pid);
    return threads && std::ranges::any_of(*threads, [](pid_t thread) {
               const auto facts = process_facts(thread);
               return facts && facts->state == 'D';
           });
}

ThreadStop::ThreadStop(pid_t pid, const StopTerms& terms)
    : pid_(pid), terms_(terms), deadline_ns_(clock_ns(CLOCK_MONOTONIC) + terms.within.count()) {}

Result<ThreadStop> ThreadStop::stop(pid_t pid, const StopTerms& terms) {
    ThreadStop stop(pid, terms);
    if (terms.stops != nullptr) {
        const auto end_ns = clock_ns(CLOCK_MONOTONIC) + terms.lasts.count();
        RETURN_IF_ERROR(terms.stops->begin(end_ns));
    }
    stop.stopped_ = true;  // from here on the destructor resumes
    auto done = stop.stop_all();
    if (done) {
        stop.complete_ = true;
        stop.deadline_ns_ += (terms.again_within - terms.within).count();
        return stop;
    }
    return stop.give_up(done.error());
}

std::unexpected<Error> ThreadStop::give_up(Error error) {
    const auto cost = resume();
    if (cost.length_ns > 0) {
        error.message += fmt::format("; the attempt stopped the process for {:.1f} ms",
                                     static_cast<double>(cost.length_ns) / 1e6);
    }
    return std::unexpected(std::move(error));
}

/// Stops what is not stopped yet, until there is nothing new.
Result<void> ThreadStop::stop_all() {
    for (int pass = 0; pass < kMaxPasses; ++pass) {
        const auto first = threads_.size();
        RETURN_IF_ERROR(seize_threads());
        if (threads_.size() == first) {
            if (threads_.empty() && terms_.only.empty()) {
                return fail(ErrorCode::kTargetDied, fmt::format("process {} has exited", pid_));
            }
            return {};
        }
        if (clock_ns(CLOCK_MONOTONIC) > deadline_ns_) {
            return std::unexpected(hangs(threads_.back()));
        }
        if (begin_ns_ == 0) {
            begin_ns_ = clock_ns(CLOCK_MONOTONIC);
        }
        for (const auto thread : std::span(threads_).subspan(first)) {
            // A thread that is gone shows when it is waited for.
            ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
        }
        RETURN_IF_ERROR(await_stops());
    }
    return fail(ErrorCode::kLimit,
                fmt::format("process {} starts threads faster than they can be stopped", pid_));
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
    // This thread may stand on the processor that one of them is to have, with priority over it.
    std::this_thread::sleep_for(moment);
    for (const auto thread : running) {
        ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
    }
    auto stopped = await_stops();
    complete_ = stopped.has_value();
    return stopped;
}

Result<void> ThreadStop::stop_new() {
    auto stopped = stop_all();
    complete_ = stopped.has_value();
    return stopped;
}

/// Seizes every thread that is not yet; those that are about to end are left out.
Result<void> ThreadStop::seize_threads() {
    ASSIGN_OR_RETURN(const auto listed, threads_of(pid_));
    for (const auto thread : listed) {
        const bool wanted =
            terms_.only.empty() || std::ranges::find(terms_.only, thread) != terms_.only.end();
        if (!wanted || std::ranges::find(threads_, thread) != threads_.end()) {
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
    const auto look = thread_status(threads_[index]);
    if (look.ended()) {
        state.ended = true;
    } else if (look.stopped()) {
        state.stopped = true;
        // An event stop (interrupted, or the process is under SIGSTOP) holds no signal back. In any
        // other stop a signal is on its way to the thread.
        state.look = look;
        state.group = look.event != 0 && look.signal != SIGTRAP;
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
        if (clock_ns(CLOCK_MONOTONIC) > deadline_ns_) {
            return std::unexpected(
                hangs(threads_[static_cast<std::size_t>(waiting - states_.begin())]));
        }
        patience.wait();
    }
}

/// Why a thread did not stop in time.
Error ThreadStop::hangs(pid_t thread) const {
    const auto directory = ProcDirectory::open(thread);
    const auto facts = directory ? directory->facts() : std::unexpected(directory.error());
    const auto where = directory ? directory->read("wchan") : std::unexpected(directory.error());
    const auto why = !facts || facts->state != 'D'
                         ? "no processor was free for it, or this program was stopped meanwhile"
                         : fmt::format("it is in uninterruptible sleep in the kernel{}",
                                       where && *where != "0" ? " (in " + *where + ")" : "");
    return {ErrorCode::kLimit,
            fmt::format(
                "thread {} ({}) of process {} did not stop within {} ms: {}", thread,
                facts ? facts->name : "?", pid_,
                std::chrono::duration_cast<std::chrono::milliseconds>(terms_.within).count(), why)};
}

/// Detaches from every thread, and reaps those that were killed meanwhile, so that their parent
/// sees their end. Gives when all that stood at first were let go.
std::int64_t ThreadStop::detach_all(const BeforeRelease& before) {
    const auto deadline = clock_ns(CLOCK_MONOTONIC) + kDetachDeadlineNs;
    Patience patience;
    std::int64_t run_ns = 0;
    while (true) {
        forget_if([&](std::size_t i) {
            states_[i].stopped = states_[i].stopped && !before;
            if (!states_[i].stopped) {
                look_at(i);
            }
            if (!states_[i].stopped || states_[i].ended) {
                return states_[i].ended;
            }
            if (before) {
                before(threads_[i], states_[i].look);
            }
            const bool detached = detach(threads_[i], states_[i].look);
            states_[i].stopped = detached;  // where it failed the thread was killed: it ends soon
            return detached;
        });
        const auto now = clock_ns(CLOCK_MONOTONIC);
        run_ns = run_ns == 0 ? now : run_ns;
        // After a failure some never stopped, and only a stopped thread can be detached from.
        if (threads_.empty() || !complete_ || now > deadline) {
            return run_ns;
        }
        patience.wait();
    }
}

ThreadStop::ThreadStop(ThreadStop&& other) noexcept
    : pid_(other.pid_),
      terms_(std::move(other.terms_)),
      deadline_ns_(other.deadline_ns_),
      threads_(std::move(other.threads_)),
      states_(std::move(other.states_)),
      begin_ns_(other.begin_ns_),
      stopped_(std::exchange(other.stopped_, false)),
      complete_(other.complete_) {}

ThreadStop::~ThreadStop() {
    resume();
}

bool ThreadStop::at_rest(pid_t thread) const {
    const auto index = index_of(thread);
    return index < threads_.size() && states_[index].stopped &&
           states_[index].look.pending_signal() == 0;
}

/// Beyond the last where it is not one of them.
std::size_t ThreadStop::index_of(pid_t thread) const {
    return static_cast<std::size_t>(std::ranges::find(threads_, thread) - threads_.begin());
}

StopCost ThreadStop::resume(const BeforeRelease& before) {
    if (!std::exchange(stopped_, false)) {
        return {};
    }
    StopCost cost;
    cost.begin_monotonic_ns = begin_ns_;
    cost.threads = static_cast<std::uint32_t>(threads_.size());
    const auto run_ns = detach_all(before);
    cost.length_ns = begin_ns_ == 0 ? 0 : run_ns - begin_ns_;
    if (terms_.stops != nullptr) {
        terms_.stops->add(cost);
        if (threads_.empty() || complete_) {
            terms_.stops->end();
        }
    }
    return cost;
}

}  // namespace beamdump::target
