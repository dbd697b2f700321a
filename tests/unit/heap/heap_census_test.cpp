#include "support/fake_term_context.h"

#include <libdump/heap/heap_census.h>
#include <libdump/heap/term_sizes.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::testing {
namespace {

class HeapCensusTest : public ::testing::Test {
  protected:
    void visit(std::uint64_t root, std::uint64_t word) {
        census.set_root(root);
        EXPECT_TRUE(sizer.sizes(word, &census));
    }

    FakeTermContext context;
    TermBuilder b{context};
    TagScheme scheme = *scheme_of(format::TermScheme::kOtp25);
    WordReader reader{context};
    TermSizer sizer{scheme, reader};
    HeapCensus census{
        scheme, reader, [](std::uint64_t) { return HeapArea::kOldHeap; }, {.largest = 3}};
};

TEST_F(HeapCensusTest, CountsEachObjectOnceOverAllRoots) {
    const auto user = b.tuple({b.atom("user"), TermBuilder::small(1)});
    const auto other = b.tuple({b.atom("user"), user});
    visit(0, b.cons(user, b.cons(other, TermBuilder::nil())));
    visit(1, b.cons(user, TermBuilder::nil()));
    EXPECT_EQ(census.cells().objects, 3U);
    EXPECT_EQ(census.in(HeapArea::kOldHeap).words, 3U * 2U + 2U * 3U);
    EXPECT_EQ(census.in(HeapArea::kHeap).objects, 0U);
    const auto& tags = census.tags();
    ASSERT_EQ(tags.size(), 1U);
    EXPECT_EQ(tags.begin()->first.second, 2U);
    EXPECT_EQ(tags.begin()->second.objects, 2U);
    EXPECT_TRUE(census.is_live(pointer_of(user)));
}

TEST_F(HeapCensusTest, MapsOfTheSameKeysAreOneLine) {
    const auto map = [this](std::int64_t x) {
        return b.flat_map({{b.atom("a"), TermBuilder::small(x)}, {b.atom("b"), b.atom("c")}});
    };
    const auto one = map(1);
    const auto two = map(2);
    visit(0, b.tuple({one, two, one}));
    ASSERT_EQ(census.key_sets().size(), 1U);
    EXPECT_EQ(census.key_sets().begin()->second.objects, 2U);
    EXPECT_EQ(census.key_sets().begin()->second.words, 10U);
}

TEST_F(HeapCensusTest, ALargeTermIsNamedByTheWayToIt) {
    std::vector<std::uint64_t> numbers(100, TermBuilder::small(1));
    auto list = TermBuilder::nil();
    for (int i = 0; i < 50; ++i) {
        list = b.cons(TermBuilder::small(1), list);
    }
    const auto big = b.tuple(numbers);
    visit(7, b.tuple({TermBuilder::small(0), b.cons(TermBuilder::small(1), b.cons(big, list))}));
    const auto largest = census.largest_terms();
    ASSERT_FALSE(largest.empty());
    // Root and list are more than a wrapping of one part: 101 of 208 words.
    EXPECT_EQ(largest.back().word, big);
    EXPECT_EQ(largest.back().root, 7U);
    EXPECT_EQ(largest.back().words, 101U);
    ASSERT_EQ(largest.back().path.size(), 2U);
    EXPECT_EQ(largest.back().path[0].kind, WalkLevel::Kind::kTuple);
    EXPECT_EQ(largest.back().path[0].index, 1U);
    EXPECT_EQ(largest.back().path[1].kind, WalkLevel::Kind::kList);
    EXPECT_EQ(largest.back().path[1].index, 1U);
    EXPECT_EQ(largest.front().words, 104U + 101U);
    EXPECT_EQ(largest.front().path.size(), 1U) << "the root gives way to the list in it";
}

TEST_F(HeapCensusTest, BinariesCountOnceAndByWhatTheyHold) {
    const auto large = b.refc_binary(std::string(5000, 'x'));
    const auto small = b.refc_binary(std::string(100, 'y'));
    visit(0, b.tuple({large, b.sub_binary(large, 0, 10), small}));
    visit(1, b.sub_binary(b.refc_binary(std::string(300, 'z')), 0, 10));
    EXPECT_EQ(census.binaries(), 3U);
    EXPECT_EQ(census.binary_bytes(), 5400U);
    const auto largest = census.largest_binaries();
    ASSERT_EQ(largest.size(), 3U);
    EXPECT_EQ(largest[0].bytes, 5000U);
    EXPECT_EQ(largest[2].bytes, 100U);
}

TEST_F(HeapCensusTest, ABinaryCountsWholeHoweverLittleOfItIsShown) {
    const auto shown = b.refc_binary(std::string(5000, 'x'));
    // The size of what a ProcBin shows (OTP 25).
    context.regions.at(pointer_of(shown))[otp25::kBinarySize] = 10;
    visit(0, shown);
    EXPECT_EQ(census.binary_bytes(), 5000U);
}

TEST_F(HeapCensusTest, ABinaryThatTheDumpLacksHasNoSize) {
    const auto known = b.refc_binary(std::string(300, 'z'));
    const auto lacking = b.refc_binary(std::string(5000, 'x'));
    const auto of_binary = pointer_of(lacking) + scheme.refc_binary * kWordBytes;
    context.binaries.erase(*context.word(of_binary));
    visit(0, b.tuple({lacking, known}));
    EXPECT_EQ(census.binaries(), 2U);
    EXPECT_EQ(census.binary_bytes(), 300U);
    EXPECT_EQ(census.unsized_binaries(), 1U);
    EXPECT_EQ(census.largest_binaries().back().bytes, std::nullopt);
}

}  // namespace
}  // namespace beamdump::testing
