#include "readings/scheduler_follower.h"

#include <gtest/gtest.h>

namespace beamdump::watch {
namespace {

using std::chrono::seconds;

class SchedulerFollowerTest : public testing::Test {
  protected:
    Measurements follow(int at, const SchedulersSeen& seen) {
        Measurements read;
        follower_.follow(seconds(at), seen, read);
        return read;
    }
    double stalled(int at, std::uint64_t reductions, std::uint64_t ready) {
        return follow(at, {.reductions = reductions, .ready = ready, .running = {}})
            .at(Quantity::kStalled)
            .value;
    }
    Measured held(int at, std::map<std::uint32_t, SchedulersSeen::Running> running) {
        return follow(at, {.running = std::move(running)}).at(Quantity::kHeld);
    }

    SchedulerFollower follower_;
};

TEST_F(SchedulerFollowerTest, IsStalledFromWhenAProcessIsReadyAndNoneRuns) {
    EXPECT_EQ(stalled(0, 100, 0), 0);
    // An idle node is not stalled, however long it is idle.
    EXPECT_EQ(stalled(1000, 100, 0), 0);
    EXPECT_EQ(stalled(1001, 100, 2), 0);
    EXPECT_EQ(stalled(1011, 100, 2), 10);
    EXPECT_EQ(stalled(1012, 101, 2), 0);
    EXPECT_EQ(stalled(1015, 101, 1), 3);
    EXPECT_EQ(stalled(1016, 101, 0), 0);
    EXPECT_EQ(stalled(1017, 101, 1), 0);
}

TEST_F(SchedulerFollowerTest, AProcessIsHeldWhileItIsNotTakenFromItsScheduler) {
    EXPECT_EQ(held(0, {{1, {7, 40}}, {2, {8, 50}}}).value, 0);
    const auto after = held(5, {{1, {7, 40}}, {2, {8, 51}}});
    EXPECT_EQ(after.value, 5);
    EXPECT_EQ(after.owner, "<0.7.0>");
    // The first one has another process, then the same one in another time slice.
    EXPECT_EQ(held(6, {{1, {9, 40}}, {2, {8, 51}}}).owner, "<0.8.0>");
    EXPECT_EQ(held(7, {{1, {7, 40}}}).value, 0);
    EXPECT_EQ(held(8, {}).value, 0);
    EXPECT_TRUE(held(9, {}).owner.empty());
}

}  // namespace
}  // namespace beamdump::watch
