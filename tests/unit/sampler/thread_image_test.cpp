#include <libsample/native/thread_image.h>

#include <gtest/gtest.h>

namespace beamdump::sampler {
namespace {

TEST(CallPlace, ReadsThatOfAWaitingThread) {
    const auto place = parse_call_place(
        "202 0x7f2c8c0010a8 0x189 0x0 0x0 0x0 0xffffffff 0x7ffd3b9ff1f0 0x7f2c8d4f1117\n");
    ASSERT_TRUE(place && *place);
    EXPECT_EQ((*place)->stack_pointer, 0x7ffd3b9ff1f0U);
    EXPECT_EQ((*place)->instruction, 0x7f2c8d4f1117U);
    const SystemCall futex{202, {0x7f2c8c0010a8, 0x189, 0, 0, 0, 0xffffffff}};
    EXPECT_EQ((*place)->call, futex);
}

TEST(CallPlace, OutsideOfASystemCall) {
    const auto place = parse_call_place("-1 0x7ffd0c5d4c48 0x55d7c0b1e2a0\n");
    ASSERT_TRUE(place && *place);
    EXPECT_EQ((*place)->stack_pointer, 0x7ffd0c5d4c48U);
    EXPECT_FALSE((*place)->call);
}

TEST(CallPlace, ReadsThatOfARunningThread) {
    const auto place = parse_call_place("running\n");
    ASSERT_TRUE(place);
    EXPECT_FALSE(*place);
}

TEST(CallPlace, RefusesOtherText) {
    for (const auto* text :
         {"", "\n", "202", "0x1 0x2", "202 0x1", "202 0x1 2", "202 0x 0x1", "202 0x1 0x2 ",
          "202 0x1 0x2", "-2 0x1 0x2", "x 0x0 0x0 0x0 0x0 0x0 0x0 0x1 0x2",
          "202 0x0 0x0 0x0 0x0 0x0 0x1 0x2", "202 0x1 0x10000000000000000", "runs"}) {
        EXPECT_FALSE(parse_call_place(text)) << text;
    }
}

}  // namespace
}  // namespace beamdump::sampler
