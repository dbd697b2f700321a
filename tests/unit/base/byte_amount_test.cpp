#include <libdump/base/byte_amount.h>

#include <gtest/gtest.h>

#include <string_view>

namespace beamdump {
namespace {

TEST(ByteAmount, UnitsArePowersOf1024InEverySpelling) {
    EXPECT_EQ(byte_amount("0"), 0U);
    EXPECT_EQ(byte_amount("4096"), 4096U);
    EXPECT_EQ(byte_amount("4096b"), 4096U);
    for (const std::string_view text : {"2G", "2g", "2GB", "2Gi", "2GiB", "2 GiB", "2gib"}) {
        EXPECT_EQ(byte_amount(text), std::uint64_t{2} << 30U) << text;
    }
    EXPECT_EQ(byte_amount("64K"), std::uint64_t{64} << 10U);
    EXPECT_EQ(byte_amount("12MB"), std::uint64_t{12} << 20U);
    EXPECT_EQ(byte_amount("3T"), std::uint64_t{3} << 40U);
    EXPECT_EQ(byte_amount("1P"), std::uint64_t{1} << 50U);
    EXPECT_EQ(byte_amount("15E"), std::uint64_t{15} << 60U);
}

TEST(ByteAmount, RefusesOtherText) {
    for (const std::string_view text : {"", "M", "1.5G", "-1", "12X", "2GiBs", "2bG", "16E", "2G 1",
                                        "18446744073709551616", " 2G"}) {
        EXPECT_FALSE(byte_amount(text)) << text;
    }
}

}  // namespace
}  // namespace beamdump
