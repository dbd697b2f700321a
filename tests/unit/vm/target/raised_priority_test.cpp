#include <libvm/target/stop/raised_priority.h>

#include <gtest/gtest.h>

#include <csignal>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace beamdump::target {
namespace {

TEST(RaisedPriority, RaisesAnotherThreadForAsLongAsItLives) {
    const pid_t other = ::fork();
    if (other == 0) {
        ::pause();
        ::_exit(0);
    }
    ASSERT_GT(other, 0);
    const int policy = ::sched_getscheduler(other);
    const int nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(other));
    {
        const RaisedPriority raised(other);
        if (raised.real_time()) {
            EXPECT_EQ(::sched_getscheduler(other), SCHED_RR | SCHED_RESET_ON_FORK);
        } else {
            EXPECT_LE(::getpriority(PRIO_PROCESS, static_cast<id_t>(other)), nice);
        }
        EXPECT_EQ(::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, policy & ~SCHED_RESET_ON_FORK);
    }
    EXPECT_EQ(::sched_getscheduler(other), policy);
    EXPECT_EQ(::getpriority(PRIO_PROCESS, static_cast<id_t>(other)), nice);
    ::kill(other, SIGKILL);
    ::waitpid(other, nullptr, 0);
}

}  // namespace
}  // namespace beamdump::target
