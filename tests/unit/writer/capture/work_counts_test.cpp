#include "capture/node/work_counts.h"

#include <gtest/gtest.h>

namespace beamdump::capture {
namespace {

using std::chrono::nanoseconds;

TEST(WorkCounts, IsTheDifferenceOfTwoMoments) {
    const WorkCounts begin{1'000, 0xffffff00, 5'000, 300};
    const WorkCounts end{9'000, 0x100, 7'500, 450};
    const auto work = work_between(begin, end, nanoseconds(2'000));
    ASSERT_TRUE(work);
    EXPECT_EQ(work->ran_ns(), 6'000U);
    EXPECT_EQ(work->processes_started(), 0x200U) << "the count began anew";
    EXPECT_EQ(work->reductions(), 2'500U);
    EXPECT_EQ(work->processor_ns(), 150U);
}

TEST(WorkCounts, CountsThatAreNotKnownAreAbsent) {
    const auto work = work_between({1'000, 5, {}, 300}, {9'000, {}, 7'500, 299}, nanoseconds(0));
    ASSERT_TRUE(work);
    EXPECT_EQ(work->ran_ns(), 8'000U);
    EXPECT_FALSE(work->has_processes_started() || work->has_reductions());
    EXPECT_FALSE(work->has_processor_ns()) << "it went back: it is of another process";
    EXPECT_FALSE(work_between({1'000, 5, 6, 7}, {9'000, 5, 6, 7}, nanoseconds(8'000)))
        << "the node was stopped all the time";
}

}  // namespace
}  // namespace beamdump::capture
