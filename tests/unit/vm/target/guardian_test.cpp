#include "support/child_process.h"

#include <libvm/target/process/clock.h>
#include <libvm/target/process/proc_directory.h>
#include <libvm/target/stop/guardian.h>
#include <libvm/target/stop/stop_tracker.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <new>
#include <string>
#include <unistd.h>

namespace beamdump::target {
namespace {

constexpr std::int64_t kShortNs = 20'000'000;

/// What the guarded process reports.
struct Told {
    std::atomic<pid_t> guardian = 0;
    std::atomic<bool> held = false;
    std::atomic<bool> refused = false;
};

class Guarded : public testing::Test {
  protected:
    /// Runs `body` in a process with a guardian; its report is in told().
    static std::function<void()> guarded(Told& told, std::function<void(StopTracker&)> body) {
        return [&told, body = std::move(body)] {
            const auto guardian = Guardian::start().value();
            told.guardian = guardian->pid();
            StopTracker stops(guardian.get());
            body(stops);
            for (;;) {
                ::pause();
            }
        };
    }
    static bool eventually(const std::function<bool()>& done) {
        for (int i = 0; i < 5000 && !done(); ++i) {
            ::usleep(1000);
        }
        return done();
    }
    static char state_of_process(pid_t pid) {
        const auto facts = process_facts(pid);
        return facts ? facts->state : '-';
    }
    Told& told() { return *told_; }

  private:
    test::SharedAddress page_{1, PROT_READ | PROT_WRITE, MAP_SHARED};
    Told* told_ = new (page_.data()) Told();
};

/// A process that runs `body` and is reaped at the end; unlike ChildProcess, nothing waits for it.
class Running {
  public:
    explicit Running(const std::function<void()>& body) : pid_(::fork()) {
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            body();
            ::_exit(0);
        }
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    [[nodiscard]] pid_t pid() const { return pid_; }

  private:
    pid_t pid_;
};

TEST_F(Guarded, TheGuardianEndsWithItsProcess) {
    {
        const Running process(guarded(told(), [](StopTracker& /*stops*/) {}));
        ASSERT_TRUE(eventually([&] { return told().guardian != 0; }));
        EXPECT_NE(state_of_process(told().guardian), '-');
    }
    EXPECT_TRUE(eventually([&] {
        return state_of_process(told().guardian) == 'Z' || state_of_process(told().guardian) == '-';
    }));
}

TEST_F(Guarded, AStoppedProcessIsWokenToEndItsHoldAndStopsAgain) {
    const Running process(guarded(told(), [&](StopTracker& stops) {
        told().held = stops.begin(clock_ns(CLOCK_MONOTONIC) + kShortNs).has_value();
        ::raise(SIGSTOP);
        const bool interrupted = stops.interrupted();
        told().held = !interrupted;
        stops.end();
        told().refused = true;
    }));
    EXPECT_TRUE(eventually([&] { return told().held.load(); }));
    EXPECT_TRUE(eventually([&] { return !told().held; }));
    EXPECT_TRUE(eventually([&] { return state_of_process(process.pid()) == 'T'; }));
    EXPECT_FALSE(told().refused);
    ::kill(process.pid(), SIGCONT);
    EXPECT_TRUE(eventually([&] { return told().refused.load(); }));
}

TEST_F(Guarded, KillsAProcessThatDoesNotEndItsHoldAndSaysWhy) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    const Running process([&] {
        ::dup2(pipe[1], STDERR_FILENO);
        ::close(pipe[0]);
        ::close(pipe[1]);
        guarded(told(), [&](StopTracker& stops) {
            told().held = stops.begin(clock_ns(CLOCK_MONOTONIC) + kShortNs).has_value();
        })();
    });
    ::close(pipe[1]);
    EXPECT_TRUE(eventually([&] { return told().held.load(); }));
    EXPECT_TRUE(eventually([&] { return state_of_process(process.pid()) == 'Z'; }));
    std::string text;
    std::array<char, 1024> piece{};
    // Ends when the guardian has ended, too.
    for (ssize_t got = 0; (got = ::read(pipe[0], piece.data(), piece.size())) > 0;) {
        text.append(piece.data(), static_cast<std::size_t>(got));
    }
    ::close(pipe[0]);
    EXPECT_NE(text.find(": killed by its guardian process: the node was stopped"),
              std::string::npos)
        << text;
    EXPECT_TRUE(text.ends_with("\n"));
}

TEST_F(Guarded, LeavesAProcessThatEndsOrExtendsItsHolds) {
    const Running process(guarded(told(), [&](StopTracker& stops) {
        const auto held = stops.begin(clock_ns(CLOCK_MONOTONIC) + kShortNs);
        stops.extend(clock_ns(CLOCK_MONOTONIC) + 1'000 * kShortNs);
        ::usleep(400'000);
        stops.end();
        told().held = held && stops.begin(clock_ns(CLOCK_MONOTONIC) + kShortNs).has_value();
        stops.end();
        ::usleep(400'000);
        told().refused = true;
    }));
    EXPECT_TRUE(eventually([&] { return told().refused.load(); }));
    EXPECT_TRUE(told().held);
    EXPECT_EQ(state_of_process(process.pid()), 'S');
}

TEST_F(Guarded, NothingIsHeldWithoutTheGuardian) {
    const Running process(guarded(told(), [&](StopTracker& stops) {
        ::kill(told().guardian, SIGKILL);
        while (stops.begin(clock_ns(CLOCK_MONOTONIC) + 1'000 * kShortNs)) {
            stops.end();
            ::usleep(1000);
        }
        told().refused = true;
    }));
    EXPECT_TRUE(eventually([&] { return told().refused.load(); }));
}

}  // namespace
}  // namespace beamdump::target
