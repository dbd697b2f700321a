#include <libdump/base/utf8.h>

#include <gtest/gtest.h>

namespace beamdump {
namespace {

TEST(Utf8, BadBytesStandForLatin1) {
    EXPECT_EQ(valid_utf8("a\xE5z"), "a\xC3\xA5z");
    EXPECT_EQ(valid_utf8("\xC3\xA5"), "\xC3\xA5");
    EXPECT_EQ(valid_utf8("\xF0\x9F\x98\x80"), "\xF0\x9F\x98\x80");
    // Overlong, surrogate, above the last character, cut off.
    for (const char* bad : {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"}) {
        const std::string valid = valid_utf8(bad);
        for (std::string_view rest = valid; !rest.empty();) {
            const std::size_t length = utf8_length(rest);
            ASSERT_NE(length, 0U) << bad;
            rest.remove_prefix(length);
        }
    }
}

TEST(Utf8, PiecesGiveTheSameAsTheWhole) {
    const std::string text = "x\xE5\xC3\xA5\xF0\x9F\x98\x80\xE2\x82\xAC\xE2\x82!\xF0\x9F";
    for (std::size_t size = 1; size <= text.size(); ++size) {
        Utf8Pieces pieces;
        std::string out;
        for (std::size_t at = 0; at < text.size(); at += size) {
            pieces.add(std::string_view(text).substr(at, size), out);
        }
        pieces.end(out);
        EXPECT_EQ(out, valid_utf8(text)) << size;
    }
}

TEST(Utf8, EveryCharacterIsAppendedAsItsBytes) {
    for (char32_t character = 0; character <= 0x10FFFF; ++character) {
        if (character >= 0xD800 && character < 0xE000) {
            continue;
        }
        std::string text;
        append_utf8(text, character);
        ASSERT_EQ(utf8_length(text), text.size()) << std::uint32_t{character};
        ASSERT_EQ(utf8_character(text), character) << std::uint32_t{character};
    }
}

TEST(Utf8, CharacterOfItsBytes) {
    EXPECT_EQ(utf8_character("a"), U'a');
    EXPECT_EQ(utf8_character("\xC2\x9B"), char32_t{0x9B});
    EXPECT_EQ(utf8_character("\xE2\x80\xAE"), char32_t{0x202E});
    EXPECT_EQ(utf8_character("\xF0\x9F\x98\x80"), char32_t{0x1F600});
}

}  // namespace
}  // namespace beamdump
