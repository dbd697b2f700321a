#include <libdump/base/amount_text.h>

#include <gtest/gtest.h>

#include <limits>

namespace beamdump {
namespace {

TEST(AmountText, BytesTakeTheLargestUnitThatFits) {
    EXPECT_EQ(bytes_text(0), "0 B");
    EXPECT_EQ(bytes_text(1023), "1023 B");
    EXPECT_EQ(bytes_text(1024), "1.0 KiB");
    EXPECT_EQ(bytes_text((1 << 20) - 1), "1.0 MiB");
    EXPECT_EQ(bytes_text(812'000'000), "774.4 MiB");
    EXPECT_EQ(bytes_text(std::numeric_limits<std::uint64_t>::max()), "16.0 EiB");
}

TEST(AmountText, AmountsToCompareHaveOneUnit) {
    EXPECT_EQ(mebibytes_text(0), "0.0 MiB");
    EXPECT_EQ(mebibytes_text(std::uint64_t{3} << 30U), "3072.0 MiB");
}

TEST(AmountText, CountsAreGroupedByThousands) {
    EXPECT_EQ(count_text(0), "0");
    EXPECT_EQ(count_text(999), "999");
    EXPECT_EQ(count_text(1'234'567), "1,234,567");
}

TEST(AmountText, NounsFollowTheirCount) {
    EXPECT_EQ(counted(0, "page"), "0 pages");
    EXPECT_EQ(counted(1, "page"), "1 page");
    EXPECT_EQ(counted(1234, "page"), "1,234 pages");
    EXPECT_EQ(counted(1, "process", "processes"), "1 process");
    EXPECT_EQ(counted(2, "process", "processes"), "2 processes");
}

}  // namespace
}  // namespace beamdump
