#include "support/fake_memory.h"

#include <libvm/memory/block_cache.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::memory {
namespace {

using beamdump::test::FakeMemory;
using beamdump::test::FakePages;

constexpr Address kBase = 0x100000;
constexpr std::size_t kBlock = 64U << 10U;

/// `pages` pages from kBase on, each word holding its own address.
void add_pages(FakeMemory& fake, std::size_t pages) {
    fake.add("pages", kBase, pages * kLeastPageBytes);
    for (Address at = kBase; at < kBase + pages * kLeastPageBytes; at += 8) {
        fake.put(at, at);
    }
}

std::uint64_t touched_bytes(const FakeMemory& fake) {
    std::uint64_t sum = 0;
    for (const auto& range : fake.touched()) {
        sum += range.bytes();
    }
    return sum;
}

TEST(BlockCache, ServesSmallReadsFromOneBlock) {
    FakeMemory fake;
    add_pages(fake, 16);
    BlockCache cache(fake, nullptr);
    for (Address at = kBase; at < kBase + kBlock; at += 8) {
        ASSERT_EQ(cache.word(at).value(), at);
    }
    EXPECT_EQ(touched_bytes(fake), kBlock);
    EXPECT_LE(fake.stats().reads, 3U);
}

TEST(BlockCache, ReadsOnlyPresentPages) {
    FakeMemory fake;
    add_pages(fake, 16);
    FakePages pages({{kBase, kBase + kLeastPageBytes},
                     {kBase + 4 * kLeastPageBytes, kBase + 6 * kLeastPageBytes}});
    BlockCache cache(fake, &pages);
    ASSERT_EQ(cache.word(kBase + 5 * kLeastPageBytes).value(), kBase + 5 * kLeastPageBytes);
    ASSERT_EQ(cache.word(kBase + 8).value(), kBase + 8);
    EXPECT_EQ(touched_bytes(fake), 3 * kLeastPageBytes);
    for (const auto& range : fake.touched()) {
        const auto parts = pages.present(range).value();
        ASSERT_EQ(parts.size(), 1U);
        EXPECT_EQ(parts.front().bytes(), range.bytes());
    }
}

TEST(BlockCache, ReadsTheWantedPageEvenIfAbsentButNoOther) {
    FakeMemory fake;
    add_pages(fake, 16);
    FakePages pages({{kBase, kBase + kLeastPageBytes}});
    BlockCache cache(fake, &pages);
    ASSERT_EQ(cache.word(kBase).value(), kBase);
    ASSERT_EQ(cache.word(kBase + 3 * kLeastPageBytes).value(), kBase + 3 * kLeastPageBytes);
    EXPECT_EQ(touched_bytes(fake), 2 * kLeastPageBytes);
}

TEST(BlockCache, ReadsAcrossPagesAndBlocks) {
    FakeMemory fake;
    add_pages(fake, 32);
    BlockCache cache(fake, nullptr);
    const Address border = kBase + kBlock;
    EXPECT_EQ(cache.value<std::uint32_t>(border - 4).value(), 0U);
    const auto word = cache.word(border - 4);
    ASSERT_TRUE(word);
    EXPECT_EQ(*word, (border & 0xffffffffU) << 32U);
}

TEST(BlockCache, PassesErrorsOnWithTheirKind) {
    FakeMemory fake;
    add_pages(fake, 1);
    BlockCache cache(fake, nullptr);
    EXPECT_EQ(cache.word(kBase).value(), kBase);
    EXPECT_EQ(cache.word(kBase + kLeastPageBytes).error().code, ErrorCode::kUnmapped);
    EXPECT_EQ(cache.word(kBase + kLeastPageBytes - 4).error().code, ErrorCode::kUnmapped);
    EXPECT_EQ(cache.word(0).error().code, ErrorCode::kUnmapped);
    EXPECT_EQ(cache.word(~Address{0}).error().code, ErrorCode::kUnmapped);
    fake.die();
    EXPECT_EQ(cache.word(kBase + kLeastPageBytes).error().code, ErrorCode::kTargetDied);
}

TEST(BlockCache, KeepsTheLatestUsedBlocks) {
    FakeMemory fake;
    add_pages(fake, 3 * 16);
    BlockCache cache(fake, nullptr, kBlock, 2);
    const auto read = [&](std::size_t block) { return cache.word(kBase + block * kBlock).value(); };
    read(0);
    read(1);
    read(0);
    const auto before = touched_bytes(fake);
    read(2);  // instead of block 1
    read(0);
    EXPECT_EQ(touched_bytes(fake), before + kLeastPageBytes);
    read(1);
    EXPECT_EQ(touched_bytes(fake), before + 2 * kLeastPageBytes);
}

TEST(BlockCache, InvalidateReadsAgain) {
    FakeMemory fake;
    add_pages(fake, 16);
    BlockCache cache(fake, nullptr, kBlock, 2);
    EXPECT_EQ(cache.word(kBase).value(), kBase);
    fake.put(kBase, std::uint64_t{42});
    EXPECT_EQ(cache.word(kBase).value(), kBase);
    cache.invalidate();
    EXPECT_EQ(cache.word(kBase).value(), 42U);
    // The buffers are used again: twice as many blocks as fit, over and over.
    for (int i = 0; i < 10; ++i) {
        fake.put(kBase, std::uint64_t{100} + i);
        cache.invalidate();
        ASSERT_EQ(cache.word(kBase).value(), 100U + i);
    }
}

TEST(BlockCache, LargeReadsGoStraightThrough) {
    FakeMemory fake;
    add_pages(fake, 32);
    BlockCache cache(fake, nullptr);
    std::vector<std::byte> bytes(kBlock);
    ASSERT_TRUE(cache.read(kBase + 8, bytes));
    EXPECT_EQ(touched_bytes(fake), kBlock);
}

}  // namespace
}  // namespace beamdump::memory
