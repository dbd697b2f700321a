#include "support/fake_term_context.h"
#include "support/random_terms.h"

#include <libdump/heap/term_sizes.h>

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace beamdump::testing {
namespace {

class TermSizesTest : public ::testing::Test {
  protected:
    TermSizes sizes(std::uint64_t word) {
        WordReader reader(context);
        TagScheme scheme = *scheme_of(format::TermScheme::kOtp25);
        return TermSizer(scheme, reader).sizes(word).value();
    }

    /// Words of all objects that a word leads to: each once, or as often as it is met.
    std::uint64_t by_hand(std::uint64_t root, bool once) {
        WordReader reader(context);
        const TagScheme scheme = *scheme_of(format::TermScheme::kOtp25);
        std::vector<std::uint64_t> pending = {root};
        std::set<std::uint64_t> seen;
        std::uint64_t total = 0;
        while (!pending.empty()) {
            const std::uint64_t word = pending.back();
            pending.pop_back();
            if (!leads_to_object(scheme, word) || (once && !seen.insert(pointer_of(word)).second)) {
                continue;
            }
            const auto object = heap_object(scheme, reader, word);
            EXPECT_TRUE(object);
            total += object->copy_words;
            for (std::uint64_t i = 0; i < object->terms.count; ++i) {
                pending.push_back(*context.word(object->terms_address() + i * kWordBytes));
            }
        }
        return total;
    }

    FakeTermContext context;
    TermBuilder b{context};
};

TEST_F(TermSizesTest, ImmediatesTakeNothing) {
    for (const auto word : {TermBuilder::nil(), TermBuilder::small(7), TermBuilder::pid(1, 2)}) {
        const auto got = sizes(word);
        EXPECT_EQ(got.flat, 0U);
        EXPECT_EQ(got.shared, 0U);
        EXPECT_EQ(got.unreadable, 0U);
    }
    EXPECT_EQ(sizes(b.tuple({})).shared, 0U);
}

TEST_F(TermSizesTest, AnObjectMetTwiceIsSharedOnce) {
    const auto part = b.tuple({TermBuilder::small(1), TermBuilder::small(2)});
    const auto list = b.cons(part, b.cons(part, TermBuilder::nil()));
    EXPECT_EQ(sizes(list).shared, 4U + 3U);
    EXPECT_EQ(sizes(list).flat, 4U + 6U);
    // A list's later cell, referred to from elsewhere.
    const auto tail = b.cons(TermBuilder::small(1), TermBuilder::nil());
    const auto both = b.tuple({b.cons(TermBuilder::small(0), tail), tail});
    EXPECT_EQ(sizes(both).shared, 3U + 2U + 2U);
    EXPECT_EQ(sizes(both).flat, 3U + 4U + 2U);
    EXPECT_EQ(sizes(b.tuple({tail, b.cons(TermBuilder::small(0), tail)})).flat, 3U + 2U + 4U);
}

TEST_F(TermSizesTest, FlatSizesOfSharedStructureAreExactUntilTheySaturate) {
    auto word = b.tuple({TermBuilder::small(1)});
    for (int i = 0; i < 60; ++i) {
        word = b.tuple({word, word});
    }
    EXPECT_EQ(sizes(word).flat, (2ULL << 60U) + 3 * ((1ULL << 60U) - 1));
    EXPECT_EQ(sizes(word).shared, 2U + 60U * 3U);
    for (int i = 0; i < 10; ++i) {
        word = b.tuple({word, word});
    }
    EXPECT_EQ(sizes(word).flat, kSaturatedSize);
}

TEST_F(TermSizesTest, ABinaryIsCountedOnceWhateverSubBinariesKeepIt) {
    const auto refc = b.refc_binary(std::string(100, 'x'));
    const auto sub = b.sub_binary(refc, 1, 9);
    EXPECT_EQ(sizes(sub).shared, 6U);
    EXPECT_EQ(sizes(b.tuple({sub, refc})).shared, 3U + 6U + 6U);
    EXPECT_EQ(sizes(b.tuple({refc, sub})).shared, 3U + 6U + 6U);
    EXPECT_EQ(sizes(b.tuple({sub, refc})).flat, 3U + 6U + 6U);
    EXPECT_EQ(sizes(b.tuple({sub, b.sub_binary(refc, 3, 9)})).flat, 3U + 6U + 6U);
}

TEST_F(TermSizesTest, AMillionLevelsAndAMillionCells) {
    auto nested = TermBuilder::nil();
    auto list = TermBuilder::nil();
    for (int i = 0; i < 1'000'000; ++i) {
        nested = b.tuple({nested});
        list = b.cons(TermBuilder::small(1), list);
    }
    EXPECT_EQ(sizes(nested).shared, 2'000'000U);
    EXPECT_EQ(sizes(b.tuple({list, nested, list})).flat, 4U + 6'000'000U);
    EXPECT_EQ(sizes(b.tuple({list, nested, list})).shared, 4U + 4'000'000U);
}

TEST_F(TermSizesTest, TornTermsEndAndAreCounted) {
    const auto cell = b.cons(TermBuilder::small(1), TermBuilder::nil());
    b.poke(pointer_of(cell) + 8, cell);  // its own tail
    EXPECT_EQ(sizes(cell).shared, 2U);
    EXPECT_EQ(sizes(b.tuple({TermBuilder::boxed(0x10)})).unreadable, 1U);
    const auto wild = b.tuple({TermBuilder::small(1)});
    b.poke(pointer_of(wild), TermBuilder::header(1'000'000, 0));
    EXPECT_EQ(sizes(wild).unreadable, 1U);
}

/// Random structure in which every object may refer to every earlier one.
TEST_F(TermSizesTest, AgreeWithCountingByHand) {
    std::mt19937 random(20261121);
    for (int round = 0; round < 300; ++round) {
        const auto words = random_terms(b, random, 25, false);
        const auto got = sizes(words.back());
        EXPECT_EQ(got.flat, by_hand(words.back(), false));
        EXPECT_EQ(got.shared, by_hand(words.back(), true));
    }
}

TEST_F(TermSizesTest, ADefinitionIsSharedByItsRecords) {
    const TagScheme scheme = *scheme_of(format::TermScheme::kOtp29);
    constexpr std::uint64_t kRecordSubtag = 7;
    const auto one = TermBuilder::small(1);
    const auto definition = b.tuple({b.tuple({one, one}), one, b.atom("module"), b.atom("name"),
                                     b.atom("false"), b.atom("x"), b.atom("y")});
    const auto record = [&](std::uint64_t x, std::uint64_t y) {
        return TermBuilder::boxed(b.put({TermBuilder::header(3, kRecordSubtag), definition, x, y}));
    };
    constexpr std::uint64_t kRecord = 4;
    constexpr std::uint64_t kDefinition = 8 + 3;
    const auto inner = record(one, one);
    WordReader reader(context);
    const auto got = TermSizer(scheme, reader).sizes(record(inner, inner)).value();
    EXPECT_EQ(got.flat, 3 * (kRecord + kDefinition));
    EXPECT_EQ(got.shared, 2 * kRecord + kDefinition);
    EXPECT_EQ(got.unreadable, 0U);
}

TEST_F(TermSizesTest, WithoutRoomForMarksIsAnError) {
    const TagScheme scheme = *scheme_of(format::TermScheme::kOtp25);
    ScratchSpace space({.max_memory_bytes = 0, .max_file_bytes = 0});
    WordReader reader(context);
    const auto got = TermSizer(scheme, reader, &space).sizes(b.tuple({TermBuilder::small(1)}));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::kLimit);
}

}  // namespace
}  // namespace beamdump::testing
