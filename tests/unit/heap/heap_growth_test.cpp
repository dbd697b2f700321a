#include <libdump/heap/heap_growth.h>

#include <gtest/gtest.h>

#include <array>

namespace beamdump::test {
namespace {

// What erlang:system_info(heap_sizes) gives on OTP 25.2.3.
constexpr std::array<std::uint64_t, 28> kSizes = {
    12,     38,     51,     90,     142,     233,     376,     610,    987,    1598,
    2586,   4185,   6772,   10958,  17731,   28690,   46422,   75113,  121536, 196650,
    318187, 514838, 833026, 999631, 1199557, 1439468, 1727361, 2072833};

TEST(HeapGrowth, ChoosesFromTheRuntimesSizes) {
    EXPECT_EQ(heap_block_words(0, 0), 12U);
    for (std::size_t i = 1; i < kSizes.size(); ++i) {
        EXPECT_EQ(heap_block_words(kSizes[i], 0), kSizes[i]);
        EXPECT_EQ(heap_block_words(kSizes[i - 1] + 1, 0), kSizes[i]);
    }
    EXPECT_EQ(heap_block_words(10, 233), 233U);
}

TEST(HeapGrowth, AMajorCollectionShrinksWhatIsMostlyDead) {
    HeapUse use{.used_words = 100'000,
                .live_words = 1000,
                .stack_words = 10,
                .min_heap_words = 233,
                .heap_words = 121'536};
    EXPECT_EQ(heap_words_after_major(use), 2586U);  // 2 * 1014
    use.live_words = 90'000;
    EXPECT_EQ(heap_words_after_major(use), 121'536U);
    use.live_words = 10;
    EXPECT_EQ(heap_words_after_major(use), 233U);
}

TEST(HeapGrowth, AMajorCollectionGrowsWhatIsFlaggedTo) {
    const HeapUse use{.used_words = 100'000,
                      .live_words = 90'000,
                      .stack_words = 10,
                      .min_heap_words = 233,
                      .grow_next = true,
                      .heap_words = 121'536};
    EXPECT_EQ(heap_words_after_major(use), 196'650U);
}

TEST(HeapGrowth, SizesBeyondAllMemoryEnd) {
    EXPECT_EQ(heap_block_words(~std::uint64_t{0}, 0), ~std::uint64_t{0});
}

}  // namespace
}  // namespace beamdump::test
