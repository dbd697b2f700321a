#include "crash_text.h"

#include <libdump/crash/text/big_parser.h>

namespace beamdump::crash {
namespace {

std::optional<BigNumber> big(std::string_view text, std::string_view rest = "\n") {
    const test::TextFile file(std::string(text) + std::string(rest));
    const auto source = file.source();
    TextCursor cursor(source, 0, source.size());
    auto value = take_big(cursor);
    if (value) {
        EXPECT_EQ(cursor.position(), text.size()) << text;
    }
    return value;
}

TEST(BigNumber, ReadsDecimalAndHexadecimal) {
    const std::vector<std::uint64_t> two_to_64 = {0, 1};
    EXPECT_EQ(big("18446744073709551616")->words, two_to_64);
    EXPECT_EQ(big("16#10000000000000000")->words, two_to_64);
    EXPECT_EQ(big("-18446744073709551615")->words,
              (std::vector<std::uint64_t>{0xFFFF'FFFF'FFFF'FFFF}));
    EXPECT_TRUE(big("-18446744073709551615")->negative);
    EXPECT_TRUE(big("-16#FF")->negative);
    EXPECT_FALSE(big("0")->negative);
    EXPECT_EQ(big("0")->words, (std::vector<std::uint64_t>{0}));
}

TEST(BigNumber, RefusesWhatIsNoNumber) {
    EXPECT_FALSE(big("x"));
    EXPECT_FALSE(big("-"));
    EXPECT_FALSE(big("16#"));
    EXPECT_FALSE(big(std::string(100'001, '9')));
}

}  // namespace
}  // namespace beamdump::crash
