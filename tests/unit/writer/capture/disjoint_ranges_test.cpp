#include "capture/copy/disjoint_ranges.h"

#include <gtest/gtest.h>

namespace beamdump::capture {
namespace {

TEST(DisjointRanges, OnesThatTouchDoNotOverlap) {
    DisjointRanges ranges;
    EXPECT_TRUE(ranges.add(100, 10));
    EXPECT_TRUE(ranges.add(110, 10));
    EXPECT_TRUE(ranges.add(90, 10));
    EXPECT_TRUE(ranges.add(105, 0));
}

TEST(DisjointRanges, EachKindOfOverlapIsRefusedAndNotAdded) {
    DisjointRanges ranges;
    ASSERT_TRUE(ranges.add(100, 10));
    ASSERT_TRUE(ranges.add(200, 10));
    EXPECT_FALSE(ranges.add(100, 10));
    EXPECT_FALSE(ranges.add(109, 1));
    EXPECT_FALSE(ranges.add(95, 6));
    EXPECT_FALSE(ranges.add(102, 2));
    EXPECT_FALSE(ranges.add(50, 300));
    EXPECT_FALSE(ranges.add(199, 5));
    EXPECT_TRUE(ranges.add(110, 90));
}

TEST(DisjointRanges, NoneIsLeftWhenTheyWereCleared) {
    DisjointRanges ranges;
    ASSERT_TRUE(ranges.add(100, 10));
    ranges.clear();
    EXPECT_TRUE(ranges.add(100, 10));
}

TEST(DisjointRanges, TheLastOnesOfTheAddressSpaceAreCompared) {
    DisjointRanges ranges;
    const memory::Address last = ~memory::Address{0} - 15;
    EXPECT_TRUE(ranges.add(last, 8));
    EXPECT_FALSE(ranges.add(last + 7, 8));
    EXPECT_TRUE(ranges.add(last + 8, 7));
}

}  // namespace
}  // namespace beamdump::capture
