#include <libdump/crash/import/words/word_image.h>

#include <gtest/gtest.h>

namespace beamdump::crash {
namespace {

TEST(WordImage, KeepsWordsWhereverTheyWerePut) {
    WordImage image;
    ASSERT_TRUE(image.put(0x7F00'0000'1000, {42}));
    ASSERT_TRUE(image.put(0x7F00'0000'0FF8, {0x7F00'0000'1000, true}));
    image.begin(0x7F00'0000'0FF8, ObjectStart::kCell);
    EXPECT_EQ(image.object_at(0x7F00'0000'0FF8), ObjectStart::kCell);
    EXPECT_EQ(image.object_at(0x7F00'0000'1000), ObjectStart::kNone);
    EXPECT_EQ(image.object_at(0x7F00'0000'0FF9), ObjectStart::kNone);
    std::array<WordImage::Word, 3> words;
    ASSERT_TRUE(image.read(0x7F00'0000'0FF8, words, 7));
    EXPECT_TRUE(words[0].is_pointer);
    EXPECT_EQ(words[1].value, 42U);
    EXPECT_EQ(words[2].value, 7U);
    EXPECT_EQ(image.words(), 2U);
}

TEST(WordImage, PartsStretchesWhereMuchIsMissing) {
    WordImage image;
    for (const std::uint64_t word : {100, 101, 105, 200, 10'000}) {
        ASSERT_TRUE(image.put(word * 8, {word}));
    }
    auto stretches = image.stretches(50);
    ASSERT_TRUE(stretches);
    ASSERT_EQ(stretches->size(), 3U);
    EXPECT_EQ((*stretches)[0].address, 800U);
    EXPECT_EQ((*stretches)[0].words, 6U);
    EXPECT_EQ((*stretches)[1].words, 1U);
    EXPECT_EQ((*stretches)[2].address, 80'000U);
}

TEST(WordImage, GoesToAFileBeyondItsShareOfMemory) {
    // Three times what it holds in memory, in an order that takes every block out again.
    constexpr std::uint64_t kBlocks = 3 * 8192;
    constexpr std::uint64_t kBlockBytes = 4096;
    WordImage image;
    for (std::uint64_t round = 0; round < 2; ++round) {
        for (std::uint64_t block = 0; block < kBlocks; ++block) {
            const auto at = block * kBlockBytes + round * 8;
            ASSERT_TRUE(image.put(at, {at, round == 1}));
        }
    }
    EXPECT_EQ(image.words(), 2 * kBlocks);
    for (std::uint64_t block = 0; block < kBlocks; block += 7) {
        std::array<WordImage::Word, 2> words;
        const auto at = block * kBlockBytes;
        ASSERT_TRUE(image.read(at, words, 0));
        ASSERT_EQ(words[0].value, at);
        ASSERT_FALSE(words[0].is_pointer);
        ASSERT_EQ(words[1].value, at + 8);
        ASSERT_TRUE(words[1].is_pointer);
    }
    image.clear();
    EXPECT_TRUE(image.empty());
    EXPECT_EQ(image.words(), 0U);
    std::array<WordImage::Word, 1> word;
    ASSERT_TRUE(image.read(0, word, 9));
    EXPECT_EQ(word[0].value, 9U);
}

}  // namespace
}  // namespace beamdump::crash
