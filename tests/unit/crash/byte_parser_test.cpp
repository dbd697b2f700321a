#include "crash_text.h"

#include <libdump/crash/text/byte_parser.h>

namespace beamdump::crash {
namespace {

std::string bytes(std::string_view text, std::size_t count, bool base64) {
    const test::TextFile file(text);
    const auto source = file.source();
    TextCursor cursor(source, 0, source.size());
    ByteParser reader(cursor, base64);
    std::vector<std::uint8_t> content(count);
    content.resize(reader.read(content));
    return {content.begin(), content.end()};
}

TEST(ByteParser, ReadsBase64OfEachLength) {
    EXPECT_EQ(bytes("YQ==", 1, true), "a");
    EXPECT_EQ(bytes("YWI=", 2, true), "ab");
    EXPECT_EQ(bytes("YWJj", 3, true), "abc");
    EXPECT_EQ(bytes("+/8=\n", 2, true), "\xFB\xFF");
}

TEST(ByteParser, GoesOnAfterAPieceThatWasPadded) {
    EXPECT_EQ(bytes("YQ==YmM=", 3, true), "abc");
}

TEST(ByteParser, EndsWhereSomethingElseStands) {
    EXPECT_EQ(bytes("YWJjY\n", 9, true), "abc");
    EXPECT_EQ(bytes("YWJj", 9, true), "abc");
    EXPECT_EQ(bytes("Y===", 9, true), "");
    EXPECT_EQ(bytes("6162x", 9, false), "ab");
}

TEST(ByteParser, ReadsHexadecimal) {
    EXPECT_EQ(bytes("00fFaB7", 4, false), std::string("\0\xFF\xAB", 3));
}

}  // namespace
}  // namespace beamdump::crash
