#include "support/child_process.h"

#include <libvm/target/process/threads.h>

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <unistd.h>

namespace beamdump::target {
namespace {

using beamdump::test::ChildProcess;

/// In memory that all processes of a test share.
struct Shared {
    std::atomic<int> handled = 0;
    std::atomic<bool> stopped = false;
};

Shared* shared_with_child = nullptr;  // for the signal handler

/// A child that counts SIGUSR1 and that any process may trace.
class ThreadStatusTest : public ::testing::Test {
  protected:
    ThreadStatusTest()
        : shared_(new(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared()) {
        child_ = std::make_unique<ChildProcess>([this] {
            shared_with_child = shared_;
            ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
            std::signal(SIGUSR1, [](int) { ++shared_with_child->handled; });
        });
    }
    ~ThreadStatusTest() override {
        child_.reset();
        ::munmap(shared_, sizeof(Shared));
    }

    /// Stops the child on its way to handling a signal; the two states seen.
    [[nodiscard]] bool stops_for_signal() const {
        if (::ptrace(PTRACE_SEIZE, child_->pid(), nullptr, nullptr) != 0 ||
            ::kill(child_->pid(), SIGUSR1) != 0) {
            return false;
        }
        for (int i = 0; i < 10000 && !thread_status(child_->pid()).stopped(); ++i) {
            ::usleep(1000);
        }
        const auto again = thread_status(child_->pid());
        return again.stopped() && again.pending_signal() == SIGUSR1;
    }
    [[nodiscard]] bool is_handled() const {
        for (int i = 0; i < 10000 && shared_->handled == 0; ++i) {
            ::usleep(1000);
        }
        return shared_->handled == 1;
    }

    Shared* shared_;
    std::unique_ptr<ChildProcess> child_;
};

TEST_F(ThreadStatusTest, ASignalOnItsWayIsDeliveredWhenItsTracerIsKilled) {
    ChildProcess tracer([&] { shared_->stopped = stops_for_signal(); });
    ASSERT_TRUE(shared_->stopped);
    ::usleep(20000);
    ASSERT_EQ(shared_->handled, 0);
    tracer.kill();
    EXPECT_TRUE(is_handled());
}

TEST_F(ThreadStatusTest, ASignalOnItsWayIsDeliveredByDetaching) {
    ASSERT_TRUE(stops_for_signal());
    EXPECT_TRUE(detach(child_->pid(), thread_status(child_->pid())));
    EXPECT_TRUE(is_handled());
}

TEST_F(ThreadStatusTest, OneThatWasKilledHasEnded) {
    ASSERT_TRUE(stops_for_signal());
    ::kill(child_->pid(), SIGKILL);
    ThreadStatus look;
    for (int i = 0; i < 10000 && !look.ended(); ++i) {
        look = thread_status(child_->pid());
        ::usleep(1000);
    }
    EXPECT_EQ(look.state, ThreadStatus::State::kKilled);
}

}  // namespace
}  // namespace beamdump::target
