#include "target/timed_stop.h"

#include "support/child_process.h"
#include "target/proc_directory.h"

#include <gtest/gtest.h>

#include <thread>

namespace beamdump::target {
namespace {

using beamdump::test::ChildProcess;
using namespace std::chrono_literals;

/// Whether the process stands in a tracer's stop.
bool stands(pid_t pid) {
    const auto directory = ProcDirectory::open(pid);
    const auto status = directory->read("status");
    return status && status->find("State:\tt") != std::string::npos;
}

TEST(TimedStop, LastsUntilItIsEnded) {
    ChildProcess child([] {});
    auto stop = TimedStop::begin(child.pid(), std::nullopt);
    ASSERT_TRUE(stop) << stop.error().message;
    std::this_thread::sleep_for(20ms);
    EXPECT_TRUE(stands(child.pid()));
    EXPECT_FALSE(stop->expired());
    EXPECT_GE(stop->elapsed(), 20ms);
    const auto cost = stop->end();
    EXPECT_FALSE(stands(child.pid()));
    EXPECT_EQ(cost.threads, 1U);
    EXPECT_GE(cost.length_ns, 20'000'000);
}

TEST(TimedStop, EndsByItselfWhateverItsOwnerWaitsFor) {
    ChildProcess child([] {});
    auto stop = TimedStop::begin(child.pid(), 10ms);
    ASSERT_TRUE(stop) << stop.error().message;
    for (int i = 0; i < 1000 && !stop->expired(); ++i) {
        std::this_thread::sleep_for(10ms);
    }
    EXPECT_TRUE(stop->expired());
    for (int i = 0; i < 1000 && stands(child.pid()); ++i) {
        std::this_thread::sleep_for(1ms);
    }
    EXPECT_FALSE(stands(child.pid()));
    EXPECT_EQ(stop->end().threads, 1U);
}

TEST(TimedStop, EndsWithItsOwner) {
    ChildProcess child([] {});
    {
        auto stop = TimedStop::begin(child.pid(), std::nullopt);
        ASSERT_TRUE(stop) << stop.error().message;
        EXPECT_TRUE(stands(child.pid()));
    }
    EXPECT_FALSE(stands(child.pid()));
}

TEST(TimedStop, WhoIsNotThereCannotBeStopped) {
    ChildProcess child([] {});
    const pid_t pid = child.pid();
    child.kill();
    auto stop = TimedStop::begin(pid, 10ms);
    ASSERT_FALSE(stop);
    EXPECT_EQ(stop.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace beamdump::target
