#include "support/child_process.h"

#include <program/cancel.h>

#include <gtest/gtest.h>

#include <csignal>
#include <vector>

namespace beamdump::program {
namespace {

/// Runs `body` in a child, where signals may end things; gives its wait status.
int status_of(const std::function<void()>& body) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        body();
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return status;
}

bool soon(const std::atomic<bool>& flag) {
    for (int i = 0; i < 10000 && !flag; ++i) {
        ::usleep(1000);
    }
    return flag;
}

TEST(CancelOnSignal, TheFirstSignalSetsTheFlag) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        const int status = status_of([&] {
            target::StopTracker stops;
            const auto watch = CancelOnSignal::start(stops).value();
            const bool before = watch->cancelled();
            ::kill(::getpid(), signal);
            ::_exit(!before && soon(watch->cancelled()) ? 42 : 1);
        });
        EXPECT_TRUE(WIFEXITED(status));
        EXPECT_EQ(WEXITSTATUS(status), 42);
    }
}

TEST(CancelOnSignal, TheSecondEndsTheProcess) {
    const int status = status_of([] {
        target::StopTracker stops;
        const auto watch = CancelOnSignal::start(stops, std::chrono::hours(1)).value();
        ::kill(::getpid(), SIGTERM);
        soon(watch->cancelled());
        ::kill(::getpid(), SIGTERM);
        ::sleep(60);
        ::_exit(42);
    });
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST(CancelOnSignal, TheProcessEndsWhenItsGraceIsOver) {
    const int status = status_of([] {
        target::StopTracker stops;
        const auto watch = CancelOnSignal::start(stops, std::chrono::milliseconds(20)).value();
        ::kill(::getpid(), SIGINT);
        ::sleep(60);
        ::_exit(42);
    });
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 1);
}

/// How a child ends that does nothing for `busy` after it was interrupted, and then exits with 42.
int status_when_busy(std::chrono::milliseconds busy,
                     const std::function<void(CancelOnSignal&, target::StopTracker&)>& before) {
    const int status = status_of([&] {
        target::StopTracker stops;
        const auto watch = CancelOnSignal::start(stops, std::chrono::hours(1)).value();
        before(*watch, stops);
        ::kill(::getpid(), SIGINT);
        soon(watch->cancelled());
        ::usleep(static_cast<useconds_t>(busy.count() * 1000));
        ::_exit(42);
    });
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(CancelOnSignal, TheProcessEndsWhenWorkTakesLongerThanItsPatience) {
    const auto started = std::chrono::steady_clock::now();
    EXPECT_EQ(status_when_busy(std::chrono::seconds(30), [](auto&, auto&) {}), 1);
    EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(20));
}

TEST(CancelOnSignal, TheProcessStaysWhileTheNodeIsHeldOrTheOutcomeIsTold) {
    constexpr auto kLonger = CancelOnSignal::kPatience * 3;
    EXPECT_EQ(status_when_busy(kLonger, [](auto&, auto& stops) { stops.begin(0).value(); }), 42);
    EXPECT_EQ(status_when_busy(kLonger, [](auto& watch, auto&) { watch.finishing(); }), 42);
}

TEST(CancelOnSignal, EndsInOrderWithAndWithoutASignal) {
    EXPECT_EQ(status_of([] {
                  target::StopTracker stops;
                  CancelOnSignal::start(stops).value().reset();
              }),
              0);
    EXPECT_EQ(status_of([] {
                  target::StopTracker stops;
                  auto watch = CancelOnSignal::start(stops).value();
                  ::kill(::getpid(), SIGTERM);
                  soon(watch->cancelled());
                  watch.reset();
              }),
              0);
}

/// Whether a child gets into that state (waitpid's) soon.
bool gets(pid_t pid, int options, bool (*into)(int)) {
    int status = 0;
    for (int i = 0; i < 5000; ++i) {
        if (::waitpid(pid, &status, options | WNOHANG) == pid) {
            return into(status);
        }
        ::usleep(1000);
    }
    return false;
}

TEST(CancelOnSignal, TheTerminalsStopWaitsForTheEndOfAHold) {
    test::SharedAddress page(1, PROT_READ | PROT_WRITE, MAP_SHARED);
    volatile unsigned char* shared = page.data();
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::setpgid(0, 0);
        target::StopTracker stops;
        const auto watch = CancelOnSignal::start(stops).value();
        const bool held = stops.begin(0).has_value();
        shared[0] = held ? 1 : 2;
        while (shared[1] == 0) {
        }
        stops.end();
        // Not before this process was continued.
        const bool again = stops.begin(0).has_value();
        shared[2] = again ? 1 : 2;
        ::_exit(again && !watch->cancelled() ? 42 : 1);
    }
    for (int i = 0; i < 5000 && shared[0] == 0; ++i) {
        ::usleep(1000);
    }
    ::kill(pid, SIGTSTP);
    ::usleep(50'000);
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, WUNTRACED | WNOHANG), 0);
    shared[1] = 1;
    EXPECT_TRUE(gets(pid, WUNTRACED, [](int got) { return WIFSTOPPED(got); }));
    ::kill(pid, SIGCONT);
    EXPECT_TRUE(gets(pid, 0, [](int got) { return WIFEXITED(got) && WEXITSTATUS(got) == 42; }));
}

TEST(CancelOnSignal, AnOutputThatTakesNothingIsNotWaitedForLong) {
    const int status = status_of([] {
        target::StopTracker stops;
        const auto watch = CancelOnSignal::start(stops, std::chrono::hours(1)).value();
        int ends[2] = {-1, -1};
        if (::pipe(ends) != 0) {
            ::_exit(42);
        }
        const auto sink = watch->watched(descriptor_sink(ends[1]));
        ::kill(::getpid(), SIGTERM);
        const std::vector<std::byte> much(1U << 20U);
        [[maybe_unused]] const auto never = sink->write(much);
        ::_exit(42);
    });
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST(CancelOnSignal, AnIgnoredSignalStaysIgnored) {
    const int status = status_of([] {
        std::signal(SIGHUP, SIG_IGN);
        target::StopTracker stops;
        const auto watch = CancelOnSignal::start(stops).value();
        ::kill(::getpid(), SIGHUP);
        ::usleep(50000);
        ::_exit(watch->cancelled() ? 1 : 42);
    });
    EXPECT_EQ(WEXITSTATUS(status), 42);
}

}  // namespace
}  // namespace beamdump::program
