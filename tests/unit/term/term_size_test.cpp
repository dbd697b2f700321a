#include "external_term.h"

#include <libdump/term/term_size.h>

#include <gtest/gtest.h>

#include <fstream>

namespace beamdump::testing {
namespace {

constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

class TermSizeTest : public ::testing::Test {
  protected:
    FlatSize size(std::uint64_t word, std::uint64_t limit = kNoLimit) {
        WordReader reader(context);
        return flat_size(otp25_scheme(), reader, word, limit);
    }

    FakeTermContext context;
    TermBuilder b{context};
};

TEST_F(TermSizeTest, IsWhatTheVmCounts) {
    const std::string oracle = BEAMDUMP_TERM_ORACLE;
    std::ifstream terms(oracle + "/terms.txt", std::ios::binary);
    std::ifstream sizes(oracle + "/sizes.txt");
    std::size_t count = 0;
    std::uint64_t expected = 0;
    for (std::string term, text; sizes >> expected; ++count) {
        ASSERT_TRUE(std::getline(terms, term) && std::getline(terms, text));
        const auto got = size(build_external(context, b, decode_base64(term)));
        EXPECT_EQ(got.words, expected) << text.substr(0, 200);
        EXPECT_TRUE(got.whole);
        EXPECT_FALSE(got.limit_reached);
    }
    EXPECT_GT(count, 400U);
}

TEST_F(TermSizeTest, CountsWhatACopyOfASubBinaryTakes) {
    const auto heap = b.heap_binary("hello world");
    const auto refc = b.refc_binary(std::string(100, 'x'));
    EXPECT_EQ(size(b.sub_binary(heap, 1, 9)).words, 2U + 2U);
    EXPECT_EQ(size(b.sub_binary(heap, 1, 8, 1)).words, 5U + 2U + 2U);
    EXPECT_EQ(size(b.sub_binary(heap, 1, 7, 4, 5)).words, 5U + 2U + 2U);
    EXPECT_EQ(size(b.sub_binary(refc, 1, 9)).words, 6U);
    EXPECT_EQ(size(b.sub_binary(refc, 1, 9, 0, 3)).words, 5U + 6U);
}

TEST_F(TermSizeTest, CountsLargeMapsByTheirNodes) {
    const auto leaf = b.cons(TermBuilder::small(1), TermBuilder::small(2));
    const auto node = b.hash_node(0x3, {leaf, leaf});
    EXPECT_EQ(size(b.hash_head(0x11, 40, {node, leaf})).words, 4U + 3U + 3U * 2U);
}

TEST_F(TermSizeTest, CountsSharedTermsAgainAndStopsAtTheLimit) {
    auto word = b.tuple({TermBuilder::small(1)});
    for (int i = 0; i < 10; ++i) {
        word = b.tuple({word, word});
    }
    EXPECT_EQ(size(word).words, 2U * 1024U + 3U * 1023U);
    for (int i = 0; i < 50; ++i) {
        word = b.tuple({word, word});
    }
    const auto stopped = size(word, 100'000);
    EXPECT_TRUE(stopped.limit_reached);
    EXPECT_EQ(stopped.words, 100'000U);
}

TEST_F(TermSizeTest, AMillionLevelsAndAMillionCells) {
    auto nested = TermBuilder::nil();
    auto list = TermBuilder::nil();
    for (int i = 0; i < 1'000'000; ++i) {
        nested = b.tuple({nested});
        list = b.cons(TermBuilder::small(1), list);
    }
    EXPECT_EQ(size(nested).words, 2'000'000U);
    EXPECT_EQ(size(list).words, 2'000'000U);
}

TEST_F(TermSizeTest, SaysWhatItCouldNotCount) {
    const auto size_of_torn =
        size(b.tuple({0x1234'5678'9001, 0x1234'5678'9002, TermBuilder::nil()}));
    EXPECT_FALSE(size_of_torn.whole);
    EXPECT_EQ(size_of_torn.words, 4U) << "neither pointer leads to an object";
    const auto cell = b.put({TermBuilder::nil(), 0});
    b.poke(cell + 8, TermBuilder::list_at(cell));
    EXPECT_TRUE(size(TermBuilder::list_at(cell), 1000).limit_reached);
}

}  // namespace
}  // namespace beamdump::testing
