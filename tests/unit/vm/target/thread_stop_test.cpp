#include "support/child_process.h"

#include <libvm/target/process/proc_directory.h>
#include <libvm/target/stop/settle.h>
#include <libvm/target/stop/thread_stop.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace beamdump::target {
namespace {

using beamdump::test::ChildProcess;
using ::testing::HasSubstr;

constexpr std::size_t kThreads = 20;

/// Shared memory in which the child's threads count.
struct Counters {
    std::array<std::atomic<std::uint64_t>, kThreads> counts;
    std::atomic<std::uint64_t> signals;
    std::atomic<std::uint64_t> born;
    std::atomic<bool> breed;
    std::atomic<pid_t> pid;
};

class SharedCounters {
  public:
    SharedCounters()
        : data_(::mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
          counters_(new(data_) Counters()) {}
    SharedCounters(const SharedCounters&) = delete;
    SharedCounters& operator=(const SharedCounters&) = delete;
    ~SharedCounters() { ::munmap(data_, sizeof(Counters)); }
    Counters* operator->() const { return counters_; }
    [[nodiscard]] Counters* get() const { return counters_; }

  private:
    void* data_;
    Counters* counters_;
};

Counters* counters_of_child = nullptr;  // for the signal handler

/// Tries for up to ten seconds.
bool eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 10000; ++i) {
        if (condition()) {
            return true;
        }
        ::usleep(1000);
    }
    return false;
}

/// A child with 20 threads, each counting, one call of usleep in between.
class ThreadStopTest : public ::testing::Test {
  protected:
    ThreadStopTest() : child_([this] { child_main(); }) {
        EXPECT_TRUE(
            eventually([&] { return all_advance_from(std::array<std::uint64_t, kThreads>{}); }));
    }

    void child_main() {
        counters_of_child = shared_.get();
        struct sigaction action{};
        action.sa_handler = [](int) { ++counters_of_child->signals; };
        ::sigaction(SIGUSR1, &action, nullptr);
        for (std::size_t i = 0; i < kThreads; ++i) {
            std::thread([counters = shared_.get(), i] {
                while (true) {
                    ++counters->counts[i];
                    ::usleep(100);
                    if (counters->breed && i == 0) {
                        std::thread([counters] { ++counters->born; }).detach();
                    }
                }
            }).detach();
        }
    }
    [[nodiscard]] std::array<std::uint64_t, kThreads> counts() const {
        std::array<std::uint64_t, kThreads> now{};
        for (std::size_t i = 0; i < kThreads; ++i) {
            now[i] = shared_->counts[i];
        }
        return now;
    }
    [[nodiscard]] bool all_advance_from(const std::array<std::uint64_t, kThreads>& before) const {
        const auto now = counts();
        for (std::size_t i = 0; i < kThreads; ++i) {
            if (now[i] <= before[i]) {
                return false;
            }
        }
        return true;
    }
    /// All threads continue to count.
    [[nodiscard]] bool runs() const {
        const auto before = counts();
        return eventually([&] { return all_advance_from(before); });
    }
    /// No thread counts.
    [[nodiscard]] bool stands() const {
        const auto before = counts();
        ::usleep(50000);
        return counts() == before;
    }
    /// The states of all threads, as /proc shows them.
    [[nodiscard]] std::string states() const {
        std::string states;
        for (const auto& entry :
             std::filesystem::directory_iterator(fmt::format("/proc/{}/task", child_.pid()))) {
            const auto facts = process_facts(std::stoi(entry.path().filename().native()));
            states += facts ? facts->state : '-';
        }
        return states;
    }

    SharedCounters shared_;
    ChildProcess child_;
};

TEST_F(ThreadStopTest, StopsAllAndResumesAll) {
    auto stop = ThreadStop::stop(child_.pid());
    ASSERT_TRUE(stop) << stop.error().message;
    EXPECT_EQ(stop->threads().size(), kThreads + 1);
    EXPECT_TRUE(stands());
    EXPECT_EQ(states(), std::string(kThreads + 1, 't'));
    const auto cost = stop->resume();
    EXPECT_EQ(cost.threads, kThreads + 1);
    EXPECT_GE(cost.length_ns, 50'000'000);
    EXPECT_GT(cost.begin_monotonic_ns, 0);
    EXPECT_TRUE(runs());
    EXPECT_EQ(stop->resume().threads, 0U);
}

TEST_F(ThreadStopTest, StopsSomeWhileTheOthersRun) {
    const auto threads = threads_of(child_.pid()).value();
    constexpr pid_t kNone = 1;  // a thread that has ended
    auto stop = ThreadStop::stop(child_.pid(), {.only = {threads.back(), kNone}});
    ASSERT_TRUE(stop) << stop.error().message;
    EXPECT_EQ(stop->threads(), std::vector{threads.back()});
    const auto all = states();
    EXPECT_EQ(std::ranges::count(all, 't'), 1);
    // Each but one counts on.
    const auto before = counts();
    EXPECT_TRUE(eventually([&] {
        const auto now = counts();
        std::size_t advanced = 0;
        for (std::size_t i = 0; i < kThreads; ++i) {
            advanced += now[i] > before[i] ? 1 : 0;
        }
        return advanced == kThreads - 1;
    }));
    EXPECT_EQ(stop->resume().threads, 1U);
    EXPECT_TRUE(runs());
    auto none = ThreadStop::stop(child_.pid(), {.only = {kNone}});
    ASSERT_TRUE(none) << none.error().message;
    EXPECT_EQ(none->resume().threads, 0U);
}

TEST_F(ThreadStopTest, SomeRunOnForAMoment) {
    auto stop = ThreadStop::stop(child_.pid());
    ASSERT_TRUE(stop) << stop.error().message;
    // The second thread; the first one in the list has made them all and ended or waits.
    const std::array some = {stop->threads()[1]};
    const auto before = counts();
    ASSERT_TRUE(eventually([&] {
        EXPECT_TRUE(stop->run_on(some, std::chrono::microseconds(300)));
        return counts() != before;
    }));
    EXPECT_TRUE(stands());
    EXPECT_EQ(states(), std::string(kThreads + 1, 't'));
    const auto after = counts();
    std::size_t changed = 0;
    for (std::size_t i = 0; i < kThreads; ++i) {
        changed += before[i] != after[i] ? 1 : 0;
    }
    EXPECT_EQ(changed, 1U);
    stop->resume();
    EXPECT_TRUE(runs());
}

TEST_F(ThreadStopTest, RestlessThreadsRunOnBeyondTheTimeOfUncertainOnes) {
    auto stop = ThreadStop::stop(child_.pid());
    ASSERT_TRUE(stop) << stop.error().message;
    const pid_t some = stop->threads()[1];
    int left = 20;
    Settling settling{.certain = [](const ThreadRegisters&) { return true; },
                      .restless =
                          [&](std::span<const ThreadRegisters>) {
                              return left-- > 0 ? std::vector{some} : std::vector<pid_t>();
                          },
                      .longest = std::chrono::nanoseconds(0)};
    ASSERT_TRUE(settle(*stop, settling));
    EXPECT_GE(left, 18) << "no time is left for them";
    settling.longest_restless = std::chrono::minutes(1);
    const auto registers = settle(*stop, settling);
    ASSERT_TRUE(registers) << registers.error().message;
    EXPECT_EQ(left, -1) << "until none is restless";
    EXPECT_EQ(registers->size(), kThreads + 1);
    EXPECT_TRUE(stands());
    stop->resume();
    EXPECT_TRUE(runs());
}

TEST_F(ThreadStopTest, StopsThreadsThatARunningThreadMakes) {
    auto stop = ThreadStop::stop(child_.pid());
    ASSERT_TRUE(stop) << stop.error().message;
    shared_->breed = true;
    const auto all = stop->threads();
    ASSERT_TRUE(eventually([&] {
        EXPECT_TRUE(stop->run_on(all, std::chrono::microseconds(300)));
        EXPECT_TRUE(stop->stop_new());
        return shared_->born > 0 || stop->threads().size() > all.size();
    }));
    EXPECT_TRUE(stands());
    shared_->breed = false;
    stop->resume();
    EXPECT_TRUE(runs());
}

TEST_F(ThreadStopTest, NothingRunsOnOfAProcessUnderSigstop) {
    ::kill(child_.pid(), SIGSTOP);
    ASSERT_TRUE(eventually([&] { return states() == std::string(kThreads + 1, 'T'); }));
    auto stop = ThreadStop::stop(child_.pid());
    ASSERT_TRUE(stop) << stop.error().message;
    const auto all = stop->threads();
    const auto before = counts();
    EXPECT_TRUE(stop->run_on(all, std::chrono::microseconds(300)));
    EXPECT_EQ(counts(), before);
    stop->resume();
    EXPECT_TRUE(eventually([&] { return states() == std::string(kThreads + 1, 'T'); }));
    EXPECT_EQ(counts(), before);
    ::kill(child_.pid(), SIGCONT);
    EXPECT_TRUE(runs());
}

TEST_F(ThreadStopTest, ItsDestructorResumes) {
    {
        const auto stop = ThreadStop::stop(child_.pid());
        ASSERT_TRUE(stop);
        ASSERT_TRUE(stands());
    }
    EXPECT_TRUE(runs());
    EXPECT_EQ(process_facts(child_.pid())->tracer, 0);
}

TEST_F(ThreadStopTest, StopsAgainAndAgain) {
    for (int i = 0; i < 50; ++i) {
        auto stop = ThreadStop::stop(child_.pid());
        ASSERT_TRUE(stop) << stop.error().message;
        ASSERT_EQ(stop->threads().size(), kThreads + 1);
        auto moved = std::move(*stop);
        moved.resume();
    }
    EXPECT_TRUE(runs());
}

TEST_F(ThreadStopTest, StopsThreadsThatAreMadeMeanwhile) {
    shared_->breed = true;
    ASSERT_TRUE(eventually([&] { return shared_->born > 100; }));
    for (int i = 0; i < 30; ++i) {
        auto stop = ThreadStop::stop(child_.pid());
        ASSERT_TRUE(stop) << stop.error().message;
        const auto born = shared_->born.load();
        ASSERT_EQ(states().find_first_not_of('t'), std::string::npos) << states();
        ::usleep(2000);
        ASSERT_EQ(shared_->born, born);
    }
    EXPECT_TRUE(runs());
}

TEST_F(ThreadStopTest, TheKernelResumesWhenTheStopperIsKilled) {
    for (int i = 0; i < 10; ++i) {
        {
            ChildProcess stopper([&] {
                auto* stop = new Result<ThreadStop>(ThreadStop::stop(child_.pid()));
                if (!*stop) {
                    ::_exit(1);
                }
            });
            ASSERT_EQ(process_facts(child_.pid())->tracer, stopper.pid());
            ASSERT_TRUE(stands());
        }  // SIGKILL
        ASSERT_TRUE(runs());
        ASSERT_EQ(process_facts(child_.pid())->tracer, 0);
        ASSERT_EQ(states().find_first_of("tT"), std::string::npos) << states();
    }
}

TEST_F(ThreadStopTest, LeavesATargetUnderSigstopStopped) {
    ::kill(child_.pid(), SIGSTOP);
    const auto all_stopped = [&] { return states() == std::string(kThreads + 1, 'T'); };
    ASSERT_TRUE(eventually(all_stopped));
    auto stop = ThreadStop::stop(child_.pid());
    ASSERT_TRUE(stop) << stop.error().message;
    EXPECT_EQ(stop->threads().size(), kThreads + 1);
    EXPECT_TRUE(stands());
    stop->resume();
    EXPECT_TRUE(stands());
    EXPECT_TRUE(eventually(all_stopped)) << states();
    ::kill(child_.pid(), SIGCONT);
    EXPECT_TRUE(runs());
}

TEST_F(ThreadStopTest, SigcontDuringTheStopCountsAfterIt) {
    ::kill(child_.pid(), SIGSTOP);
    ASSERT_TRUE(eventually([&] { return states() == std::string(kThreads + 1, 'T'); }));
    auto stop = ThreadStop::stop(child_.pid());
    ASSERT_TRUE(stop);
    ::kill(child_.pid(), SIGCONT);
    EXPECT_TRUE(stands());
    stop->resume();
    EXPECT_TRUE(runs());
}

TEST_F(ThreadStopTest, DeliversSignalsAfterwardsAndOnce) {
    std::uint64_t sent = 0;
    for (int i = 0; i < 20; ++i) {
        std::thread sender([&] {
            for (int k = 0; k < 10; ++k) {
                ::kill(child_.pid(), SIGUSR1);
                ++sent;
                // One at a time: pending signals of the same number become one.
                ASSERT_TRUE(eventually([&] { return shared_->signals == sent; }));
            }
        });
        while (sent < static_cast<std::uint64_t>(10 * i) + 9) {
            auto stop = ThreadStop::stop(child_.pid());
            ASSERT_TRUE(stop) << stop.error().message;
        }
        sender.join();
    }
    EXPECT_EQ(shared_->signals, 200U);
    {
        auto stop = ThreadStop::stop(child_.pid());
        ASSERT_TRUE(stop);
        ::kill(child_.pid(), SIGUSR1);
        ::usleep(20000);
        EXPECT_EQ(shared_->signals, 200U);
    }
    EXPECT_TRUE(eventually([&] { return shared_->signals == 201; }));
}

TEST_F(ThreadStopTest, SaysWhichThreadsAreAtRest) {
    const auto stop = ThreadStop::stop(child_.pid());
    ASSERT_TRUE(stop);
    EXPECT_TRUE(stop->at_rest(child_.pid()));
    EXPECT_FALSE(stop->at_rest(::getpid()));
}

TEST_F(ThreadStopTest, ATargetKilledMeanwhileIsReapedByItsParent) {
    auto stop = ThreadStop::stop(child_.pid());
    ASSERT_TRUE(stop);
    ::kill(child_.pid(), SIGKILL);
    stop->resume();
    // It is also this process's child, so the tracer's wait has reaped it completely.
    EXPECT_TRUE(eventually([&] { return !process_facts(child_.pid()); }));
}

TEST_F(ThreadStopTest, NamesTheTracerThatWasThereBefore) {
    ChildProcess tracer([&] {
        for (const auto& entry :
             std::filesystem::directory_iterator(fmt::format("/proc/{}/task", child_.pid()))) {
            ::ptrace(PTRACE_SEIZE, std::stoi(entry.path().filename().native()), nullptr, nullptr);
        }
    });
    const auto stop = ThreadStop::stop(child_.pid());
    ASSERT_FALSE(stop);
    EXPECT_EQ(stop.error().code, ErrorCode::kPermission);
    EXPECT_THAT(stop.error().message, HasSubstr(fmt::format("process {} (", child_.pid())));
    EXPECT_THAT(stop.error().message, HasSubstr(fmt::format("traced by process {}", tracer.pid())));
    EXPECT_TRUE(runs());
}

TEST_F(ThreadStopTest, ResumesWhatItHadWhenItFails) {
    // The tracer holds the last thread only, so that the others are seized before it is met.
    pid_t last = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/task", child_.pid()))) {
        last = std::max(last, std::stoi(entry.path().filename().native()));
    }
    ChildProcess tracer([&] { ::ptrace(PTRACE_SEIZE, last, nullptr, nullptr); });
    std::thread([&] {
        const auto stop = ThreadStop::stop(child_.pid());
        ASSERT_FALSE(stop);
        EXPECT_EQ(stop.error().code, ErrorCode::kPermission);
    }).join();
    EXPECT_EQ(process_facts(child_.pid())->tracer, 0);
    EXPECT_TRUE(runs());
}

TEST(ThreadStop, NoSuchProcess) {
    ChildProcess child([] {});
    const pid_t pid = child.pid();
    child.kill();
    const auto stop = ThreadStop::stop(pid);
    ASSERT_FALSE(stop);
    EXPECT_EQ(stop.error().code, ErrorCode::kNotFound);
}

TEST(ThreadStop, AThreadInVforkIsGivenUpOnAndRunsOn) {
    SharedCounters shared;
    // vfork keeps the parent uninterruptible until the child execs or ends.
    ChildProcess child([&] {
        std::thread([counters = shared.get()] {
            const pid_t forked = ::vfork();
            if (forked == 0) {
                counters->pid = ::getpid();
                while (!counters->breed) {
                }
                ::_exit(0);
            }
            ++counters->born;
        }).detach();
    });
    ASSERT_TRUE(eventually([&] { return shared->pid != 0; }));
    std::thread([&] {
        const auto stop = ThreadStop::stop(child.pid(), {.within = std::chrono::milliseconds(30)});
        ASSERT_FALSE(stop);
        EXPECT_EQ(stop.error().code, ErrorCode::kLimit);
        EXPECT_THAT(stop.error().message,
                    HasSubstr("did not stop within 30 ms: it is in uninterruptible sleep"));
        EXPECT_THAT(stop.error().message, HasSubstr("the attempt stopped the process for "));
    }).join();
    EXPECT_EQ(process_facts(child.pid())->tracer, 0);
    shared->breed = true;
    EXPECT_TRUE(eventually([&] { return shared->born == 1; }));
}

}  // namespace
}  // namespace beamdump::target
