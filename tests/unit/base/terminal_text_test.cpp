#include <libdump/base/terminal_text.h>

#include <gtest/gtest.h>

namespace beamdump {
namespace {

TEST(OneLine, KeepsATerminalSafe) {
    EXPECT_EQ(one_line("plain \xC3\xA5"), "plain \xC3\xA5");
    EXPECT_EQ(one_line("\x1B[31m\n\x7F\xFF"), "\\x1B[31m\\x0A\\x7F\\xFF");
}

TEST(OneLine, EscapesC1ControlsAndWhatTurnsTextRound) {
    EXPECT_EQ(one_line("a\xC2\x9B"
                       "31mb"),
              "a\\u009B31mb");
    EXPECT_EQ(one_line("\xD8\x9C\xE2\x80\x8E\xE2\x80\xAE\xE2\x81\xA6\xE2\x80\xA8"),
              "\\u061C\\u200E\\u202E\\u2066\\u2028");
    // No neighbour of theirs: U+00A0, U+200D (joins emoji), U+202F, U+2065.
    const char* kept = "\xC2\xA0\xE2\x80\x8D\xE2\x80\xAF\xE2\x81\xA5";
    EXPECT_EQ(one_line(kept), kept);
}

TEST(TerminalText, PiecesGiveTheSameAsTheWhole) {
    const std::string text =
        "x\ty\n\x1B]0;\a\xE2\x80\xAEz\xC2\x9B\xC3\xA5\xF0\x9F\x98\x80\xE5!\xF0";
    for (std::size_t size = 1; size <= text.size(); ++size) {
        TerminalText pieces;
        std::string out;
        for (std::size_t at = 0; at < text.size(); at += size) {
            pieces.add(std::string_view(text).substr(at, size), out);
        }
        pieces.end(out);
        EXPECT_EQ(out, "x\ty\n\\x1B]0;\\x07\\u202Ez\\u009B\xC3\xA5\xF0\x9F\x98\x80\\xE5!\\xF0")
            << size;
    }
}

}  // namespace
}  // namespace beamdump
