#include "support/fake_term_context.h"
#include "support/random_terms.h"
#include "support/temporary_directory.h"

#include <libdump/heap/retained_sizes.h>
#include <libdump/term/heap_object.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

namespace beamdump::testing {
namespace {

/// Bytes of this process that are not backed by a file.
std::uint64_t anonymous_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("RssAnon:")) {
            return std::stoull(line.substr(8)) * 1024;
        }
    }
    ADD_FAILURE() << "no RssAnon";
    return 0;
}

class RetainedSizesTest : public ::testing::Test {
  protected:
    using Roots = std::vector<std::uint64_t>;

    Result<std::vector<LargeTerm>> retained(const Roots& words) {
        ScratchSpace space({});
        return retained(words, space);
    }
    Result<std::vector<LargeTerm>> retained(const Roots& words, ScratchSpace& space) {
        in_memory_at_most = 0;
        on_disk_at_most = 0;
        anonymous_growth = 0;
        const std::uint64_t before = anonymous_bytes();
        told = 0;
        RetainedSizes sizes(scheme, reader, space,
                            [this](std::uint64_t address) { return literals.contains(address); },
                            {.largest = 1000});
        auto done = sizes.run(
            [&](const auto& walk) -> Result<void> {
                for (std::size_t i = 0; i < words.size(); ++i) {
                    if (auto walked = walk(i, words[i]); !walked) {
                        return walked;
                    }
                }
                return {};
            },
            [&](const LargeTerm&) {
                if (++told == 1) {
                    const std::uint64_t here = anonymous_bytes();
                    anonymous_growth = here > before ? here - before : 0;
                }
                in_memory_at_most = std::max(in_memory_at_most, space.memory_bytes());
                on_disk_at_most = std::max(on_disk_at_most, space.file_bytes());
            });
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
    // While the answer is told.
    std::uint64_t anonymous_growth = 0;
    std::uint64_t in_memory_at_most = 0;
    std::uint64_t on_disk_at_most = 0;
};

/// Terms and what they retain.
std::vector<std::pair<std::uint64_t, std::uint64_t>> words_of(const std::vector<LargeTerm>& terms) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> words;
    for (const LargeTerm& term : terms) {
        words.emplace_back(term.word, term.words);
    }
    return words;
}

TEST_F(RetainedSizesTest, ASharedTermIsFreedWithTheCommonHolder) {
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

TEST_F(RetainedSizesTest, ATermOfTwoRootsIsRetainedByNeither) {
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

/// A list of which every item but the last is in it twice.
std::uint64_t list_of_pairs(TermBuilder& b, int items) {
    auto list = TermBuilder::nil();
    for (int i = 0; i < items; ++i) {
        const auto cell = b.cons(TermBuilder::small(i), TermBuilder::nil());
        list = b.cons(cell, b.cons(cell, list));
    }
    return list;
}

TEST_F(RetainedSizesTest, OnDiskTheyAreTheSameAsInMemory) {
    const auto list = list_of_pairs(b, 200'000);
    ScratchSpace memory({});
    const auto expected = retained({list}, memory);
    ASSERT_TRUE(expected);
    EXPECT_EQ(expected->size(), 1000U);
    EXPECT_EQ(on_disk_at_most, 0U);
    EXPECT_GT(in_memory_at_most, 9'000'000U);
    EXPECT_GT(anonymous_growth, 8'000'000U);

    const test::TemporaryDirectory directory;
    for (const std::uint64_t allowed : {std::uint64_t{0}, std::uint64_t{1} << 20U}) {
        ScratchSpace space({.max_memory_bytes = allowed, .directory = directory.path()});
        const auto terms = retained({list}, space);
        ASSERT_TRUE(terms) << terms.error().message;
        EXPECT_EQ(words_of(*terms), words_of(*expected));
        EXPECT_LE(in_memory_at_most, allowed);
        EXPECT_GT(on_disk_at_most, 8'000'000U);
#ifndef __SANITIZE_THREAD__  // its shadow of the files' mappings is anonymous memory
        EXPECT_LT(anonymous_growth, 4'000'000U);
#endif
        EXPECT_TRUE(std::filesystem::is_empty(directory.path())) << "the files have no names";
        EXPECT_EQ(space.file_bytes() + space.memory_bytes(), 0U) << "all is given back";
    }
}

TEST_F(RetainedSizesTest, NoRoomOnDiskIsSaid) {
    ScratchSpace space({.max_memory_bytes = 100'000, .directory = "/nowhere/at/all"});
    const auto terms = retained({list_of_pairs(b, 10'000)}, space);
    ASSERT_FALSE(terms);
    EXPECT_EQ(terms.error().code, ErrorCode::kIo);
    EXPECT_NE(terms.error().message.find("/nowhere/at/all"), std::string::npos);
    EXPECT_NE(terms.error().message.find("TMPDIR"), std::string::npos);
    EXPECT_NE(terms.error().message.find("--max-memory"), std::string::npos);
}

TEST_F(RetainedSizesTest, ALongChainThatAllShareTakesNoTime) {
    const auto common = b.tuple({TermBuilder::small(1)});
    auto nested = b.tuple({common, TermBuilder::nil()});
    for (int i = 0; i < 300'000; ++i) {
        nested = b.tuple({common, nested});
    }
    const auto terms = retained({nested});
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
        const Roots words = random_terms(b, random, 30, true);
        if (random() % 2 == 0) {
            literals.insert(pointer_of(words[random() % words.size()]));
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
