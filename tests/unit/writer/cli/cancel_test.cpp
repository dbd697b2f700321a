#include "cli/cancel.h"

#include "support/child_process.h"

#include <gtest/gtest.h>

#include <csignal>

namespace beamdump::cli {
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
            const auto watch = CancelOnSignal::start().value();
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
        const auto watch = CancelOnSignal::start(std::chrono::hours(1)).value();
        ::kill(::getpid(), SIGTERM);
        soon(watch->cancelled());
        ::kill(::getpid(), SIGTERM);
        ::sleep(60);
        ::_exit(42);
    });
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST(CancelOnSignal, SoDoesTheEndOfItsGrace) {
    const int status = status_of([] {
        const auto watch = CancelOnSignal::start(std::chrono::milliseconds(20)).value();
        ::kill(::getpid(), SIGINT);
        ::sleep(60);
        ::_exit(42);
    });
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST(CancelOnSignal, EndsInOrderWithAndWithoutASignal) {
    EXPECT_EQ(status_of([] { CancelOnSignal::start().value().reset(); }), 0);
    EXPECT_EQ(status_of([] {
                  auto watch = CancelOnSignal::start().value();
                  ::kill(::getpid(), SIGTERM);
                  soon(watch->cancelled());
                  watch.reset();
              }),
              0);
}

TEST(CancelOnSignal, AnIgnoredSignalStaysIgnored) {
    const int status = status_of([] {
        std::signal(SIGHUP, SIG_IGN);
        const auto watch = CancelOnSignal::start().value();
        ::kill(::getpid(), SIGHUP);
        ::usleep(50000);
        ::_exit(watch->cancelled() ? 1 : 42);
    });
    EXPECT_EQ(WEXITSTATUS(status), 42);
}

}  // namespace
}  // namespace beamdump::cli
