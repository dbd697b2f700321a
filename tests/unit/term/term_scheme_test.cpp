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
