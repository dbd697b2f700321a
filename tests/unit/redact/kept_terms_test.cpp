#include <libdump/redact/kept_terms.h>
#include <libdump/redact/word_pass.h>

#include <gtest/gtest.h>

#include <vector>

namespace beamdump::redact {
namespace {

constexpr std::uint64_t kAt = 0x7F12'3400'0000;

TEST(KeptTerms, KnowAWordByItsAddressAndItself) {
    KeptTerms kept;
    kept.keep_word(kAt, 47);
    kept.keep_word(kAt + 8, 63);
    kept.keep_word(kAt, 47);
    kept.seal();
    EXPECT_TRUE(kept.has_word(kAt, 47));
    EXPECT_TRUE(kept.has_word(kAt + 8, 63));
    EXPECT_FALSE(kept.has_word(kAt, 63));
    EXPECT_FALSE(kept.has_word(kAt + 8, 47));
    EXPECT_EQ(kept.left_out(), 0U);
}

TEST(KeptTerms, HideAnAtomThatIsHiddenAnywhere) {
    KeptTerms kept;
    kept.keep_atom(5);
    kept.keep_atom(900);
    kept.hide_atom(900);
    EXPECT_TRUE(kept.has_atom(5));
    EXPECT_FALSE(kept.has_atom(900));
    EXPECT_TRUE(kept.hides_atom(900));
    EXPECT_FALSE(kept.hides_atom(5));
    EXPECT_FALSE(kept.has_atom(6));
    EXPECT_FALSE(kept.has_atom(~std::uint64_t{0}));
}

TEST(KeptTerms, HaveALimit) {
    KeptTerms kept;
    for (std::uint64_t at = 0; at < KeptTerms::kMaxWords + 100; ++at) {
        kept.keep_word(at * 8, 1);
    }
    kept.keep_word(8, 1);  // is there
    kept.seal();
    EXPECT_EQ(kept.left_out(), 100U);
    EXPECT_TRUE(kept.has_word(8, 1));
    EXPECT_FALSE(kept.has_word((KeptTerms::kMaxWords + 1) * 8, 1));
}

constexpr std::uint64_t integer(std::uint64_t value) {
    return value << 4U | 0xFU;
}

TEST(KeptTerms, RemainInAPassOverWords) {
    constexpr std::uint64_t kText = 0x2165'7263'6573'2121;
    // {1, 2}, a float, a big integer, a binary of eleven bytes with garbage behind them, and again.
    const std::vector<std::uint64_t> before = {2U << 6U,
                                               integer(1),
                                               integer(2),
                                               1U << 6U | 0x18,
                                               0x3FF0'0000'0000'0000,
                                               1U << 6U | 2U << 2U,
                                               77,
                                               3U << 6U | 9U << 2U,
                                               11,
                                               kText,
                                               kText,
                                               3U << 6U | 9U << 2U,
                                               11,
                                               kText,
                                               kText};
    KeptTerms kept;
    kept.keep_word(kAt + 2 * 8, integer(2));
    kept.keep_word(kAt + 4 * 8, before[4]);
    kept.keep_word(kAt + 6 * 8, 77);
    kept.keep_word(kAt + 9 * 8, kText);
    kept.keep_word(kAt + 10 * 8, first_bytes(kText, 3));
    kept.seal();
    auto words = before;
    AddressRanges ranges;
    WordPass pass(*scheme_of(format::TermScheme::kOtp25), Level::kStructure, ranges, &kept);
    pass.start(WordLayout::kObjects, words.size());
    pass.at(kAt);
    pass.run(std::as_writable_bytes(std::span(words)));
    auto after = before;
    constexpr std::uint64_t kX = 0x7878'7878'7878'7878;
    after[1] = integer(0);
    after[10] = (kX & ~0xFF'FFFFULL) | first_bytes(kText, 3);
    after[13] = after[14] = kX;
    EXPECT_EQ(words, after);
    // Where it is not said where the words are, none remains.
    words = before;
    pass.start(WordLayout::kObjects, words.size());
    pass.run(std::as_writable_bytes(std::span(words)));
    EXPECT_EQ(words[2], integer(0));
    EXPECT_EQ(words[10], kX);
}

}  // namespace
}  // namespace beamdump::redact
