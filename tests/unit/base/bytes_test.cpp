#include <libdump/base/bytes.h>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace beamdump {
namespace {

constexpr std::array kBytes = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
                               std::byte{5}};

TEST(Bytes, LoadsLittleEndianAtAnyAlignment) {
    EXPECT_EQ(load<std::uint32_t>(kBytes), 0x04030201U);
    EXPECT_EQ(load<std::uint32_t>(kBytes, 1), 0x05040302U);
}

TEST(Bytes, LoadsNothingBehindTheEnd) {
    EXPECT_FALSE(load<std::uint32_t>(kBytes, 2));
    EXPECT_FALSE(load<std::uint32_t>(kBytes, 5));
    EXPECT_FALSE(load<std::uint32_t>(kBytes, SIZE_MAX));
    EXPECT_FALSE(load<std::uint64_t>(kBytes));
}

TEST(Bytes, StoresWhatLoadGives) {
    std::array<std::byte, 8> bytes{};
    store<std::uint32_t>(bytes, 3, 0xdeadbeef);
    EXPECT_EQ(load<std::uint32_t>(bytes, 3), 0xdeadbeefU);
    EXPECT_EQ(bytes[2], std::byte{0});
    EXPECT_EQ(bytes[7], std::byte{0});
}

}  // namespace
}  // namespace beamdump
