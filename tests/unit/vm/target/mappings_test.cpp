#include <libvm/target/image/mappings.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace beamdump::target {
namespace {

using ::testing::HasSubstr;

constexpr auto kText =
    "55e0a0000000-55e0a0066000 r--p 00000000 fe:00 1234                       /usr/lib/a "
    "b/beam.smp\n"
    "55e0a0066000-55e0a02f1000 r-xp 00066000 fe:00 1234                       /usr/lib/a "
    "b/beam.smp\n"
    "55e0a02f1000-55e0a03e0000 ---p 00000000 00:00 0 \n"
    "7f0000000000-7f0000001000 rw-s 00000000 00:01 77                         /memfd:vmem "
    "(deleted)\n"
    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

TEST(Mappings, ReadsWhatTheKernelPrints) {
    const auto mappings = Mappings::parse(kText).value();
    const auto& all = mappings.all();
    ASSERT_EQ(all.size(), 5U);
    EXPECT_EQ(all[0].range.begin, 0x55e0a0000000U);
    EXPECT_EQ(all[0].range.end, 0x55e0a0066000U);
    EXPECT_TRUE(all[0].readable);
    EXPECT_FALSE(all[0].writable || all[0].executable || all[0].shared);
    EXPECT_EQ(all[0].path, "/usr/lib/a b/beam.smp");
    EXPECT_EQ(all[1].file_offset, 0x66000U);
    EXPECT_EQ(all[1].inode, 1234U);
    EXPECT_TRUE(all[1].executable);
    EXPECT_EQ(all[2].path, "");
    EXPECT_FALSE(all[2].readable);
    EXPECT_TRUE(all[3].shared && all[3].writable);
    EXPECT_EQ(all[3].path, "/memfd:vmem (deleted)");
    EXPECT_EQ(all[4].path, "[vsyscall]");
}

TEST(Mappings, FindsTheMappingOfAnAddress) {
    const auto mappings = Mappings::parse(kText).value();
    EXPECT_EQ(mappings.find(0x55e0a0065fff), &mappings.all()[0]);
    EXPECT_EQ(mappings.find(0x55e0a0066000), &mappings.all()[1]);
    EXPECT_EQ(mappings.find(0x55e0a03e0000), nullptr);
    EXPECT_EQ(mappings.find(0), nullptr);
    EXPECT_EQ(mappings.find(~memory::Address{0}), nullptr);
}

TEST(Mappings, KnowsReadableRangesWithoutGaps) {
    const auto mappings = Mappings::parse(kText).value();
    EXPECT_TRUE(mappings.readable({0x55e0a0000000, 0x55e0a02f1000}));
    EXPECT_TRUE(mappings.readable({0x55e0a0065ff8, 0x55e0a0066008}));
    EXPECT_FALSE(mappings.readable({0x55e0a0000000, 0x55e0a02f1001}));
    EXPECT_FALSE(mappings.readable({0x55e09fffffff, 0x55e0a0000001}));
    EXPECT_FALSE(mappings.readable({0x7f0000000fff, 0x7f0000001001}));
    EXPECT_FALSE(mappings.readable({0x7f0000000010, 0x7f0000000000}));
    EXPECT_FALSE(mappings.readable({0xffffffffff600000, 0xffffffffff601000}));
}

TEST(Mappings, RefusesWhatItDoesNotUnderstand) {
    for (const auto* text : {"nonsense\n", "10-5 r--p 0 0:0 0\n", "5-10 r--p\n",
                             "5-10 rp 0 0:0 0\n", "5-1g r--p 0 0:0 0\n", "\n"}) {
        const auto mappings = Mappings::parse(text);
        ASSERT_FALSE(mappings) << text;
        EXPECT_EQ(mappings.error().code, ErrorCode::kImplausible);
        EXPECT_THAT(mappings.error().message, HasSubstr("line 1"));
    }
    const auto overlap = Mappings::parse("10-20 r--p 0 0:0 0\n18-30 r--p 0 0:0 0\n");
    ASSERT_FALSE(overlap);
    EXPECT_THAT(overlap.error().message, HasSubstr("line 2"));
    EXPECT_TRUE(Mappings::parse("").value().all().empty());
}

TEST(Mappings, ReadsItsOwn) {
    std::stringstream text;
    text << std::ifstream("/proc/self/maps").rdbuf();
    const auto mappings = Mappings::parse(text.str()).value();
    const auto here = reinterpret_cast<memory::Address>(&kText);
    ASSERT_NE(mappings.find(here), nullptr);
    EXPECT_TRUE(mappings.readable({here, here + 8}));
}

}  // namespace
}  // namespace beamdump::target
