#include <libvm/target/unwind/function_starts.h>

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <vector>

namespace beamdump::target {
namespace {

constexpr memory::Address kHeader = 0x5000;

void put(std::vector<std::byte>& bytes, std::int32_t number) {
    const auto raw = std::bit_cast<std::array<std::byte, 4>>(number);
    bytes.insert(bytes.end(), raw.begin(), raw.end());
}

/// A section with functions at 0x1000, 0x1040 and 0x6000.
std::vector<std::byte> header() {
    std::vector<std::byte> bytes = {std::byte{0x01}, std::byte{0x1b}, std::byte{0x03},
                                    std::byte{0x3b}};
    put(bytes, 0x100);
    put(bytes, 3);
    for (const std::int32_t begin : {-0x4000, -0x3fc0, 0x1000}) {
        put(bytes, begin);
        put(bytes, 0x200);
    }
    return bytes;
}

TEST(FunctionStart, IsFoundOfAddressesInFunctionsAndBetweenThem) {
    const auto bytes = header();
    EXPECT_EQ(function_start(bytes, kHeader, 0x1000), 0x1000U);
    EXPECT_EQ(function_start(bytes, kHeader, 0x103f), 0x1000U);
    EXPECT_EQ(function_start(bytes, kHeader, 0x1040), 0x1040U);
    EXPECT_EQ(function_start(bytes, kHeader, 0x5fff), 0x1040U);
    EXPECT_EQ(function_start(bytes, kHeader, 0x9999), 0x6000U);
    EXPECT_EQ(function_start(bytes, kHeader, 0xfff), std::nullopt);
}

TEST(FunctionStart, RefusesATableThatIsCutOrOfAnotherForm) {
    auto bytes = header();
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        EXPECT_EQ(function_start(std::span(bytes).first(length), kHeader, 0x1000), std::nullopt);
    }
    bytes[3] = std::byte{0x1b};
    EXPECT_EQ(function_start(bytes, kHeader, 0x1000), std::nullopt);
}

}  // namespace
}  // namespace beamdump::target
