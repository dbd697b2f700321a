#include "support/fake_term_context.h"

#include <libdump/heap/retained_sizes.h>
#include <libdump/term/heap_object.h>

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace beamdump::testing {
namespace {

class RetainedSizesTest : public ::testing::Test {
  protected:
    using Roots = std::vector<std::uint64_t>;

    Result<std::vector<LargeTerm>> retained(const Roots& words,
                                            std::uint64_t max_bytes = 1U << 20U) {
        RetainedSizes sizes(scheme, reader,
                            [this](std::uint64_t address) { return literals.contains(address); },
                            {.largest = 1000, .max_bytes = max_bytes});
        auto done = sizes.run(
            [&](const auto& walk) -> Result<void> {
                for (std::size_t i = 0; i < words.size(); ++i) {
                    walk(i, words[i]);
                }
                return {};
            },
            [this](const LargeTerm&) { ++told; });
        if (!done) {
            return std::unexpected(done.error());
        }
        return sizes.largest();
    }

    /// Heap words reached from the roots without stepping on `without`.
    std::uint64_t reached(const Roots& words, std::uint64_t without) {
        std::vector<std::uint64_t> pending(words);
        std::set<std::uint64_t> seen;
        std::uint64_t total = 0;
        while (!pending.empty()) {
            const std::uint64_t word = pending.back();
            pending.pop_back();
            const std::uint64_t address = pointer_of(word);
            if (!leads_to_object(scheme, word) || address == without ||
                literals.contains(address) || !seen.insert(address).second) {
                continue;
            }
            const auto object = heap_object(scheme, reader, word);
            total += object->words;
            for (std::uint64_t i = 0; i < object->terms.count; ++i) {
                pending.push_back(*context.word(object->terms_address() + i * kWordBytes));
            }
        }
        return total;
    }

    FakeTermContext context;
    TermBuilder b{context};
    TagScheme scheme = *scheme_of(format::TermScheme::kOtp25);
    WordReader reader{context};
    std::set<std::uint64_t> literals;
    int told = 0;
};

TEST_F(RetainedSizesTest, WhatTwoReferToIsFreedWithTheirCommonHolder) {
    const auto big = b.tuple(std::vector<std::uint64_t>(100, TermBuilder::small(1)));
    const auto left = b.tuple({big, TermBuilder::small(1)});
    const auto right = b.tuple({big, TermBuilder::small(2), TermBuilder::small(3)});
    const auto terms = retained({b.tuple({left, right})});
    ASSERT_TRUE(terms);
    ASSERT_EQ(terms->size(), 3U) << "the holder gives way to the tuple of 100";
    EXPECT_EQ((*terms)[0].word, big);
    EXPECT_EQ((*terms)[0].words, 101U);
    EXPECT_EQ((*terms)[0].path.size(), 2U);
    EXPECT_EQ((*terms)[1].word, right);
    EXPECT_EQ((*terms)[1].words, 4U);
    EXPECT_EQ((*terms)[2].words, 3U);
    EXPECT_GT(told, 2);
}

TEST_F(RetainedSizesTest, WhatTwoRootsReferToIsNeithersAlone) {
    const auto common = b.tuple({TermBuilder::small(1), TermBuilder::small(2)});
    const auto terms = retained({b.cons(common, TermBuilder::nil()), b.tuple({common})});
    ASSERT_TRUE(terms);
    ASSERT_EQ(terms->size(), 3U);
    EXPECT_EQ((*terms)[0].words, 3U);
    EXPECT_EQ((*terms)[1].words, 2U);
    EXPECT_EQ((*terms)[2].words, 2U);
}

TEST_F(RetainedSizesTest, LiteralsAreNobodysToFree) {
    const auto literal = b.tuple(std::vector<std::uint64_t>(50, TermBuilder::small(1)));
    literals.insert(pointer_of(literal));
    const auto terms = retained({b.tuple({literal, literal})});
    ASSERT_TRUE(terms);
    ASSERT_EQ(terms->size(), 1U);
    EXPECT_EQ(terms->front().words, 3U);
}

TEST_F(RetainedSizesTest, MemoryNotEnoughIsSaid) {
    auto list = TermBuilder::nil();
    for (int i = 0; i < 1000; ++i) {
        const auto cell = b.cons(TermBuilder::small(i), TermBuilder::nil());
        list = b.cons(cell, b.cons(cell, list));
    }
    const auto terms = retained({list}, 10'000);
    ASSERT_FALSE(terms);
    EXPECT_EQ(terms.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(terms.error().message.find("--max-memory"), std::string::npos);
}

TEST_F(RetainedSizesTest, ALongChainThatAllShareTakesNoTime) {
    const auto common = b.tuple({TermBuilder::small(1)});
    auto nested = b.tuple({common, TermBuilder::nil()});
    for (int i = 0; i < 300'000; ++i) {
        nested = b.tuple({common, nested});
    }
    const auto terms = retained({nested}, 1U << 28U);
    ASSERT_TRUE(terms);
    EXPECT_EQ(terms->back().words < terms->front().words, true);
}

TEST_F(RetainedSizesTest, ATornCircleEnds) {
    const auto cell = b.cons(TermBuilder::small(1), TermBuilder::nil());
    const auto holder = b.tuple({cell, cell});
    b.poke(pointer_of(cell), holder);
    const auto terms = retained({holder});
    ASSERT_TRUE(terms);
    EXPECT_FALSE(terms->empty());
}

/// Random structure; what is retained found by taking each object away in turn.
TEST_F(RetainedSizesTest, AgreeWithTakingEachObjectAway) {
    std::mt19937 random(20261121);
    std::uint64_t compared = 0;
    for (int round = 0; round < 200; ++round) {
        Roots words = {TermBuilder::nil(), TermBuilder::small(5), b.heap_binary("some bytes")};
        const auto any = [&] { return words[random() % words.size()]; };
        for (int i = 0; i < 30; ++i) {
            switch (random() % 3) {
                case 0:
                    words.push_back(b.cons(any(), any()));
                    break;
                case 1:
                    words.push_back(b.tuple({any(), any()}));
                    break;
                default:
                    words.push_back(b.sub_binary(words[2], 0, 1));
                    break;
            }
        }
        if (random() % 2 == 0) {
            literals.insert(pointer_of(any()));
        }
        const Roots roots = {words[words.size() - 1], words[words.size() - 2],
                             words[words.size() - 3]};
        const auto terms = retained(roots);
        ASSERT_TRUE(terms);
        const std::uint64_t all = reached(roots, 0);
        for (const LargeTerm& term : *terms) {
            EXPECT_EQ(term.words, all - reached(roots, pointer_of(term.word))) << "round " << round;
            ++compared;
        }
    }
    EXPECT_GT(compared, 1000U);
}

}  // namespace
}  // namespace beamdump::testing
