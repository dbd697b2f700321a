#include <libdump/coding/word_coding.h>

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace beamdump::coding {
namespace {

using Words = std::vector<std::uint64_t>;

constexpr std::uint64_t kBegin = 0x7F12'3456'7000;

std::span<std::byte> bytes(Words& words) {
    return std::as_writable_bytes(std::span(words));
}

Words swapped(Words words, RegionRange range, std::uint64_t first_address) {
    swap_distances(bytes(words), range, first_address);
    return words;
}

/// Words as heaps have them, and others that look like distances or lie at the region's edges.
Words any_words(std::mt19937_64& chance, RegionRange range, std::size_t count) {
    Words words(count);
    for (auto& word : words) {
        const auto number = chance();
        switch (number % 6) {
            case 0:
                word = number;
                break;
            case 1:
                word = number >> 40U;
                break;
            case 2:
                word = range.begin + number % (range.bytes + 16) - 8;
                break;
            case 3:
                word = 0x5B5B'0000'0000'0000 + (number >> 40U);
                break;
            case 4:
                word = 0x5B5B'0000'0000'0000 - (number >> 40U);
                break;
            default:
                word = range.begin + range.bytes;
                break;
        }
    }
    return words;
}

TEST(WordCoding, PointersToNeighboursBecomeEqualDistances) {
    const RegionRange range{.begin = kBegin, .bytes = 64};
    // A list: each cell's tail points to the next cell.
    const Words cells = {0x1F, kBegin + 17, 0x2F, kBegin + 33, 0x3F, kBegin + 49};
    const auto coded = swapped(cells, range, kBegin);
    EXPECT_EQ(coded[0], 0x1FU);
    EXPECT_EQ(coded[1], coded[3]);
    EXPECT_EQ(coded[3], coded[5]);
    EXPECT_EQ(coded[1] & 3U, 1U);
}

TEST(WordCoding, PointersElsewhereAndSmallNumbersStay) {
    const RegionRange range{.begin = kBegin, .bytes = 64};
    const Words words = {0,          0x10F,       ~std::uint64_t{0},
                         kBegin - 1, kBegin + 64, kBegin + (1U << 20U)};
    EXPECT_EQ(swapped(words, range, kBegin), words);
}

TEST(WordCoding, SwappingTwiceChangesNothing) {
    std::mt19937_64 chance(1);
    for (int turn = 0; turn < 2000; ++turn) {
        const RegionRange range{.begin = turn % 3 == 0 ? chance() % 4096 : kBegin,
                                .bytes = 8 * (1 + chance() % 300)};
        const auto first = chance() % (range.bytes / 8);
        const auto words = any_words(chance, range, range.bytes / 8 - first);
        const auto address = range.begin + first * 8;
        EXPECT_EQ(swapped(swapped(words, range, address), range, address), words);
    }
}

TEST(WordCoding, RegionsBeyondUserMemoryHaveNoDistances) {
    EXPECT_TRUE(has_distances({.begin = kBegin, .bytes = 1U << 30U}));
    EXPECT_TRUE(has_distances({.begin = 0, .bytes = 1ULL << 56U}));
    EXPECT_FALSE(has_distances({.begin = 1, .bytes = 1ULL << 56U}));
    EXPECT_FALSE(has_distances({.begin = 1ULL << 57U, .bytes = 8}));
    EXPECT_FALSE(has_distances({.begin = ~std::uint64_t{0}, .bytes = 8}));
}

TEST(WordCoding, PlanesHoldTheBytesOfOnePlace) {
    Words words = {0x0807060504030201, 0x1817161514131211, 0x2827262524232221};
    Words scratch(words.size());
    to_planes(bytes(words), bytes(scratch));
    const std::vector<std::uint8_t> expected = {0x01, 0x11, 0x21, 0x02, 0x12, 0x22, 0x03, 0x13,
                                                0x23, 0x04, 0x14, 0x24, 0x05, 0x15, 0x25, 0x06,
                                                0x16, 0x26, 0x07, 0x17, 0x27, 0x08, 0x18, 0x28};
    EXPECT_EQ(std::memcmp(words.data(), expected.data(), expected.size()), 0);
}

TEST(WordCoding, PlanesOfManyWordsHoldTheBytesOfOnePlace) {
    std::mt19937_64 chance(3);
    const auto words = any_words(chance, {.begin = kBegin, .bytes = 800}, 53);
    auto coded = words;
    Words scratch(words.size());
    to_planes(bytes(coded), bytes(scratch));
    for (std::size_t plane = 0; plane < kWordBytes; ++plane) {
        for (std::size_t i = 0; i < words.size(); ++i) {
            ASSERT_EQ(bytes(coded)[plane * words.size() + i],
                      static_cast<std::byte>(words[i] >> (8 * plane)));
        }
    }
}

TEST(WordCoding, PlanesAndDifferencesAreUndone) {
    std::mt19937_64 chance(2);
    for (std::size_t count = 0; count < 100; ++count) {
        const auto words = any_words(chance, {.begin = kBegin, .bytes = 800}, count);
        Words scratch(count + 1);
        auto coded = words;
        to_planes(bytes(coded), bytes(scratch));
        from_planes(bytes(coded), bytes(scratch));
        EXPECT_EQ(coded, words);
        to_differences(bytes(coded));
        from_differences(bytes(coded));
        EXPECT_EQ(coded, words);
    }
}

TEST(WordCoding, DifferencesOfAscendingAddressesAreSmall) {
    Words words = {kBegin, kBegin + 8, kBegin + 24};
    to_differences(bytes(words));
    EXPECT_EQ(words, (Words{kBegin, 8, 16}));
}

TEST(WordCoding, TextsAreTold) {
    Words words = {0x1F,
                   kBegin,
                   0x6F77206F6C6C6568,
                   ~std::uint64_t{0},
                   0x5B5B'0000'0000'0010,
                   0x5B5A'FFFF'FFFF'FFF0};
    EXPECT_EQ(words_like_text(bytes(words)), 1U);
}

}  // namespace
}  // namespace beamdump::coding
