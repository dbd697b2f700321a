// Terms laid out in lines.

#include "external_term.h"
#include "oracle_lines.h"
#include "print_term.h"

#include <libdump/term/term_layout.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace beamdump::testing {
namespace {

std::string laid_out(FakeTermContext& context, std::uint64_t word, std::size_t width,
                     TermSyntax syntax = TermSyntax::kErlang, std::size_t chunk = 1U << 16U) {
    TagScheme scheme = otp25_scheme();
    scheme.style.syntax = syntax;
    TermPrinter printer(context, scheme);
    printer.start(word);
    LaidOutText laid(printer, width);
    std::string text;
    while (laid.next(chunk, text) != 0) {
    }
    EXPECT_TRUE(laid.done());
    return text;
}

/// The text without what the layout adds: line ends with their indentation.
std::string on_one_line(const std::string& text) {
    std::string joined;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\n') {
            while (i + 1 < text.size() && text[i + 1] == ' ') {
                ++i;
            }
            continue;
        }
        joined += text[i];
    }
    return joined;
}

TEST(TermLayout, KeepsOnALineWhatFits) {
    FakeTermContext context;
    TermBuilder builder(context);
    const auto a = builder.atom("abcd");
    const auto word = builder.tuple({a, builder.list({a, a}), a});
    EXPECT_EQ(laid_out(context, word, 80), "{abcd,[abcd,abcd],abcd}");
    EXPECT_EQ(laid_out(context, word, 23), "{abcd,[abcd,abcd],abcd}");
    EXPECT_EQ(laid_out(context, word, 22), "{\n  abcd,\n  [abcd,abcd],\n  abcd\n}");
    EXPECT_EQ(laid_out(context, word, 13), "{\n  abcd,\n  [\n    abcd,\n    abcd\n  ],\n  abcd\n}");
}

TEST(TermLayout, ReplacesSpacesByLineEnds) {
    FakeTermContext context;
    TermBuilder builder(context);
    const auto key = builder.atom("key");
    const auto map =
        builder.flat_map({{key, builder.list({key, key}, key)}, {builder.atom("b"), key}});
    EXPECT_EQ(laid_out(context, map, 80, TermSyntax::kElixir),
              "%{key: [:key, :key | :key], b: :key}");
    EXPECT_EQ(laid_out(context, map, 20, TermSyntax::kElixir),
              "%{\n  key: [\n    :key,\n    :key\n    | :key\n  ],\n  b: :key\n}");
    EXPECT_EQ(laid_out(context, map, 20),
              "#{\n  key=>[\n    key,\n    key\n    |key\n  ],\n  b=>key\n}");
}

TEST(TermLayout, PutsAsManyNumbersIntoALineAsFit) {
    FakeTermContext context;
    TermBuilder builder(context);
    std::vector<TermBuilder::Word> numbers(8, TermBuilder::small(1000));
    EXPECT_EQ(laid_out(context, builder.list(numbers), 20),
              "[\n  1000,1000,1000,\n  1000,1000,1000,\n  1000,1000\n]");
    EXPECT_EQ(
        laid_out(context, builder.heap_binary(std::string(10, '\1')), 14, TermSyntax::kElixir),
        "<<\n  1, 1, 1, 1,\n  1, 1, 1, 1,\n  1, 1\n>>");
}

TEST(TermLayout, LeavesEmptyBracketsAndLongStringsAlone) {
    FakeTermContext context;
    TermBuilder builder(context);
    EXPECT_EQ(laid_out(context, builder.tuple({}), 1), "{}");
    const auto text = builder.heap_binary(std::string(50, 'x'));
    EXPECT_EQ(laid_out(context, builder.tuple({text}), 10),
              "{\n  <<\"" + std::string(50, 'x') + "\">>\n}");
}

TEST(TermLayout, AddsOnlyLineEndsAndIndentation) {
    const auto lines = oracle_lines("terms.txt");
    for (std::size_t i = 0; i < lines.size(); i += 2) {
        FakeTermContext context;
        TermBuilder builder(context);
        const auto word = build_external(context, builder, decode_base64(lines[i]));
        for (const std::size_t width : {1U, 10U, 40U, 80U}) {
            const auto text = laid_out(context, word, width);
            ASSERT_EQ(text, laid_out(context, word, width, TermSyntax::kErlang, 3));
            if (lines[i + 1].find('\n') == std::string::npos &&
                lines[i + 1].find("  ") == std::string::npos) {
                ASSERT_EQ(on_one_line(text), lines[i + 1]) << width;
            }
            if (lines[i + 1].size() <= width) {
                ASSERT_EQ(text, lines[i + 1]);
            }
        }
    }
}

TEST(TermLayout, DeepTermsAreIndentedByHalfOfTheWidthAtMost) {
    FakeTermContext context;
    TermBuilder builder(context);
    auto word = TermBuilder::nil();
    constexpr int kDeep = 100'000;
    for (int i = 0; i < kDeep; ++i) {
        word = builder.tuple({word});
    }
    const auto text = laid_out(context, word, 80);
    EXPECT_LT(text.size(), kDeep * 2 * 50U);
    std::istringstream in(text);
    std::size_t longest = 0;
    for (std::string line; std::getline(in, line);) {
        longest = std::max(longest, line.size());
    }
    EXPECT_LE(longest, 80U);
    EXPECT_EQ(std::ranges::count(text, '{'), kDeep);
}

}  // namespace
}  // namespace beamdump::testing
