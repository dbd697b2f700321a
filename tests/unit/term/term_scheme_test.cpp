#include "support/fake_term_context.h"

#include <gtest/gtest.h>

namespace beamdump::testing {
namespace {

using Words = std::vector<std::uint64_t>;

TEST(TermScheme, NamesWhatItDoesNotKnow) {
    const auto scheme = scheme_of(format::TermScheme::kNeutral);
    ASSERT_FALSE(scheme);
    EXPECT_EQ(scheme.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(scheme.error().message.find("term scheme 64"), std::string::npos);
}

TEST(TermScheme, ClassifiesWords) {
    const auto scheme = otp25_scheme();
    EXPECT_EQ(word_kind(scheme, 0x1000), WordKind::kHeader);
    EXPECT_EQ(word_kind(scheme, 0x1001), WordKind::kList);
    EXPECT_EQ(word_kind(scheme, 0x1002), WordKind::kBoxed);
    EXPECT_EQ(word_kind(scheme, TermBuilder::small(-1)), WordKind::kSmall);
    EXPECT_EQ(word_kind(scheme, TermBuilder::pid(1, 2)), WordKind::kPid);
    EXPECT_EQ(word_kind(scheme, TermBuilder::port(1)), WordKind::kPort);
    EXPECT_EQ(word_kind(scheme, 0x4B), WordKind::kAtom);
    EXPECT_EQ(word_kind(scheme, TermBuilder::catch_word(3)), WordKind::kCatch);
    EXPECT_EQ(word_kind(scheme, TermBuilder::nil()), WordKind::kNil);
    EXPECT_EQ(word_kind(scheme, 0x2B), WordKind::kUnknown);
}

TEST(TermScheme, SizesOfBoxedObjects) {
    const auto scheme = otp25_scheme();
    const auto h = TermBuilder::header;
    const auto size = [&](const Words& words) { return boxed_words(scheme, words); };
    EXPECT_EQ(size({h(0, 0)}), 1U);
    EXPECT_EQ(size({h(3, 0)}), 4U);
    EXPECT_EQ(size({h((1U << 24U) - 1, 0)}), 1U << 24U);
    EXPECT_EQ(size({h(1U << 24U, 0)}), std::nullopt);
    EXPECT_EQ(size({h(1, 6)}), 2U);
    EXPECT_EQ(size({h(2, 6)}), std::nullopt);
    EXPECT_EQ(size({h(5, 8)}), 6U);
    EXPECT_EQ(size({h(2, 9), 8}), 3U);
    EXPECT_EQ(size({h(1, 9), 0}), 2U);
    EXPECT_EQ(size({h(2, 9), 9}), std::nullopt) << "nine bytes need two words";
    EXPECT_EQ(size({h(3, 10)}), 5U);
    EXPECT_EQ(size({h(3, 5), 0, 0, 2U << 8U}), 7U) << "two free variables";
    EXPECT_EQ(size({h(3, 5)}), std::nullopt) << "too few words to tell";
    EXPECT_EQ(size({h(0, 15), 4}), 7U);
    EXPECT_EQ(size({h(0, 15), 33}), std::nullopt);
    EXPECT_EQ(size({h(1, 15) | 0x7U << 16U}), 4U) << "node with three children";
    EXPECT_EQ(size({h(2, 15) | 0xFFFFU << 16U}), 18U);
    EXPECT_EQ(size({h(3, 15) | 0x11U << 16U}), 4U);
    EXPECT_EQ(size({h(3, 11)}), std::nullopt);
    EXPECT_EQ(size({0x1001}), std::nullopt);
    EXPECT_EQ(size({}), std::nullopt);
}

/// With two free variables; in OTP 27 its FunRef is one more word of the environment.
TEST(TermScheme, SizesOfFunsByScheme) {
    using format::TermScheme;
    constexpr std::uint64_t kFun = 0x14;
    constexpr std::uint64_t kLocal = 2U << 16U;
    constexpr std::uint64_t kExternal = 0x100U << 16U;
    struct Sizes {
        TermScheme scheme;
        Words local;
        std::uint64_t local_words;
        Words external;
        std::uint64_t external_words;
    };
    const Words counts = {TermBuilder::header(3, 5), 0, 0, 2U << 8U, TermBuilder::pid(1, 0)};
    const Words none = {TermBuilder::header(3, 5), 0, 0, 0, 0x4B};
    const Words words = {TermBuilder::header(4, 5), 0, 0, 1, 2, TermBuilder::pid(1, 0)};
    const std::vector<Sizes> all = {
        {TermScheme::kR11, {kFun | kLocal}, 8, {kFun | kExternal}, 2},
        {TermScheme::kR12, {kFun | kLocal}, 8, {kFun | kExternal}, 2},
        {TermScheme::kOtp24, words, 8, {TermBuilder::header(1, 7), 0}, 2},
        {TermScheme::kOtp25, counts, 7, none, 5},
        {TermScheme::kOtp27, {kFun | 3U << 16U}, 5, {kFun}, 2},
        {TermScheme::kOtp29, {kFun | kLocal}, 4, {kFun | kExternal}, 2},
    };
    for (const auto& [id, local, local_words, external, external_words] : all) {
        const auto scheme = scheme_of(id);
        ASSERT_TRUE(scheme);
        EXPECT_EQ(boxed_words(*scheme, local), local_words) << static_cast<unsigned>(id);
        EXPECT_EQ(boxed_words(*scheme, external), external_words) << static_cast<unsigned>(id);
        EXPECT_FALSE(is_external_fun(*scheme, local)) << static_cast<unsigned>(id);
        EXPECT_TRUE(is_external_fun(*scheme, external)) << static_cast<unsigned>(id);
    }
}

TEST(TermScheme, FunsOfOtp24ThatLieHaveNoSize) {
    const auto scheme = *scheme_of(format::TermScheme::kOtp24);
    EXPECT_EQ(boxed_words(scheme, Words{TermBuilder::header(2, 7), 0, 0}), std::nullopt);
    EXPECT_EQ(boxed_words(scheme, Words{TermBuilder::header(4, 5), 0, 0, 1, 256}), std::nullopt);
    EXPECT_EQ(boxed_words(scheme, Words{TermBuilder::header(4, 5), 0, 0, 1}), std::nullopt);
    const auto terms =
        boxed_terms(scheme, Words{TermBuilder::header(4, 5), 0, 0, 1, 2, TermBuilder::pid(1, 0)});
    ASSERT_TRUE(terms);
    EXPECT_EQ(terms->first, 5U) << "the creator";
    EXPECT_EQ(terms->count, 3U);
    EXPECT_EQ(boxed_terms(scheme, Words{TermBuilder::header(1, 7), 0})->count, 0U);
}

TEST(TermScheme, FindsTheTermsInside) {
    const auto scheme = otp25_scheme();
    const auto h = TermBuilder::header;
    const auto range = [&](const Words& words) {
        const auto found = boxed_terms(scheme, words);
        return found ? std::pair(found->first, found->count)
                     : std::pair<std::uint64_t, std::uint64_t>(99, 99);
    };
    using Range = std::pair<std::uint64_t, std::uint64_t>;
    EXPECT_EQ(range({h(3, 0)}), Range(1, 3));
    EXPECT_EQ(range({h(3, 5), 0, 0, 2U << 8U}), Range(4, 3)) << "creator and environment";
    EXPECT_EQ(range({h(0, 15), 4}), Range(2, 5)) << "keys and values";
    EXPECT_EQ(range({h(2, 15) | 0xFFFFU << 16U}), Range(2, 16));
    EXPECT_EQ(range({h(3, 10)}), Range(4, 1));
    EXPECT_EQ(range({h(5, 8)}), Range(0, 0));
    EXPECT_EQ(range({h(1U << 24U, 0)}), Range(99, 99));
}

}  // namespace
}  // namespace beamdump::testing
