#include <libdump/term/big_integer.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace beamdump {
namespace {

TEST(BigInteger, PrintsEdges) {
    EXPECT_EQ(decimal({}, false), "0");
    EXPECT_EQ(decimal({}, true), "0");
    EXPECT_EQ(decimal(std::vector<std::uint64_t>{0, 0, 0}, true), "0");
    EXPECT_EQ(decimal(std::vector<std::uint64_t>{7, 0}, true), "-7");
    EXPECT_EQ(decimal(std::vector<std::uint64_t>{10'000'000'000'000'000'000U}, false),
              "10000000000000000000");
    EXPECT_EQ(decimal(std::vector<std::uint64_t>{9'999'999'999'999'999'999U}, false),
              "9999999999999999999");
    EXPECT_EQ(decimal(std::vector<std::uint64_t>{0, 1}, false), "18446744073709551616");
}

TEST(BigInteger, AgreesWithAnotherImplementation) {
    std::mt19937_64 random(25);
    for (const std::size_t size : {1U, 2U, 3U, 5U, 17U, 63U, 64U, 65U, 200U, 1563U}) {
        for (int round = 0; round < 5; ++round) {
            std::vector<std::uint64_t> magnitude(size);
            for (auto& word : magnitude) {
                word = round == 0 ? ~std::uint64_t{0} : round == 1 ? 0 : random();
            }
            magnitude.back() |= 1;
            boost::multiprecision::cpp_int expected = 0;
            boost::multiprecision::import_bits(expected, magnitude.begin(), magnitude.end(), 64,
                                               false);
            EXPECT_EQ(decimal(magnitude, false), expected.str());
            EXPECT_EQ(decimal(magnitude, true), "-" + expected.str());
        }
    }
}

}  // namespace
}  // namespace beamdump
