// Flat sizes against those of the VM (tests/unit/term/oracle).

#include "unit/term/external_term.h"

#include <libdump/heap/term_sizes.h>

#include <gtest/gtest.h>

#include <fstream>

namespace beamdump::testing {
namespace {

class FlatSizeTest : public ::testing::Test {
  protected:
    TermSizes size(std::uint64_t word) {
        WordReader reader(context);
        return TermSizer(otp25_scheme(), reader).sizes(word).value();
    }

    FakeTermContext context;
    TermBuilder b{context};
};

TEST_F(FlatSizeTest, IsWhatTheVmCounts) {
    const std::string oracle = BEAMDUMP_TERM_ORACLE;
    std::ifstream terms(oracle + "/terms.txt", std::ios::binary);
    std::ifstream sizes(oracle + "/sizes.txt");
    std::size_t count = 0;
    std::uint64_t expected = 0;
    for (std::string term, text; sizes >> expected; ++count) {
        ASSERT_TRUE(std::getline(terms, term) && std::getline(terms, text));
        const auto got = size(build_external(context, b, decode_base64(term)));
        EXPECT_EQ(got.flat, expected) << text.substr(0, 200);
        EXPECT_EQ(got.unreadable, 0U);
        EXPECT_NE(got.flat, kSaturatedSize);
    }
    EXPECT_GT(count, 400U);
}

TEST_F(FlatSizeTest, CountsWhatACopyOfASubBinaryTakes) {
    const auto heap = b.heap_binary("hello world");
    const auto refc = b.refc_binary(std::string(100, 'x'));
    EXPECT_EQ(size(b.sub_binary(heap, 1, 9)).flat, 2U + 2U);
    EXPECT_EQ(size(b.sub_binary(heap, 1, 8, 1)).flat, 5U + 2U + 2U);
    EXPECT_EQ(size(b.sub_binary(heap, 1, 7, 4, 5)).flat, 5U + 2U + 2U);
    EXPECT_EQ(size(b.sub_binary(refc, 1, 9)).flat, 6U);
    EXPECT_EQ(size(b.sub_binary(refc, 1, 9, 0, 3)).flat, 5U + 6U);
}

TEST_F(FlatSizeTest, CountsLargeMapsByTheirNodes) {
    const auto leaf = b.cons(TermBuilder::small(1), TermBuilder::small(2));
    const auto node = b.hash_node(0x3, {leaf, leaf});
    EXPECT_EQ(size(b.hash_head(0x11, 40, {node, leaf})).flat, 4U + 3U + 3U * 2U);
}

TEST_F(FlatSizeTest, CountsSharedTermsAgainUntilNoCounterHoldsThem) {
    auto word = b.tuple({TermBuilder::small(1)});
    for (int i = 0; i < 10; ++i) {
        word = b.tuple({word, word});
    }
    EXPECT_EQ(size(word).flat, 2U * 1024U + 3U * 1023U);
    for (int i = 0; i < 60; ++i) {
        word = b.tuple({word, word});
    }
    EXPECT_EQ(size(word).flat, kSaturatedSize);
}

TEST_F(FlatSizeTest, AMillionLevelsAndAMillionCells) {
    auto nested = TermBuilder::nil();
    auto list = TermBuilder::nil();
    for (int i = 0; i < 1'000'000; ++i) {
        nested = b.tuple({nested});
        list = b.cons(TermBuilder::small(1), list);
    }
    EXPECT_EQ(size(nested).flat, 2'000'000U);
    EXPECT_EQ(size(list).flat, 2'000'000U);
}

TEST_F(FlatSizeTest, SaysWhatItCouldNotCount) {
    const auto size_of_torn =
        size(b.tuple({0x1234'5678'9001, 0x1234'5678'9002, TermBuilder::nil()}));
    EXPECT_EQ(size_of_torn.unreadable, 2U);
    EXPECT_EQ(size_of_torn.flat, 4U) << "neither pointer leads to an object";
    const auto cell = b.put({TermBuilder::nil(), 0});
    b.poke(cell + 8, TermBuilder::list_at(cell));
    EXPECT_EQ(size(TermBuilder::list_at(cell)).flat, 4U)
        << "it leads back into itself: counted once for each way to it";
}

}  // namespace
}  // namespace beamdump::testing
